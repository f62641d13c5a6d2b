import { Alert, Button, Group, Tabs, Text } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { IconKey } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { refresh } from "@/app/queries";
import { whyNotAll } from "@/app/rights";
import { useSession } from "@/app/session";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import { Code } from "@/ui/Code";
import { notifyError } from "@/ui/notify";
import { mcpSnippets, snippets } from "./snippets";

/** Connect shows how clients are connected with the service, or with one of its MCP servers, and makes a key for them. */
export function Connect({ server }: { server?: { name: string; url: string } }) {
  const session = useSession();
  const { info, tenant } = session;
  const [key, setKey] = useState("");
  const address = info.publicUrl || window.location.origin;
  const all = (server ? mcpSnippets(address, key, server) : snippets(address, key)).map((s) => ({ ...s, id: s.client.toLowerCase().replaceAll(" ", "-") }));
  const [client, setClient] = useState(all[0]!.id);
  const make = useMutation(TenantService.method.createApiKey, {
    onSuccess: ({ secret }) => {
      setKey(secret);
      void refresh(TenantService);
    },
    onError: notifyError,
  });
  const mayMake = whyNotAll(session, "") === "";
  return (
    <>
      {key ? (
        <Alert color="yellow" title="The key stands in the text below, and is shown only now">It can search and read in the tenant {tenant}. <Link to="/keys">Keys and access</Link> revokes it.</Alert>
      ) : (
        <Group justify="space-between" gap="sm">
          <Text size="sm" c="dimmed">Replace <code>RAGD_API_KEY</code> by a key of the tenant {tenant}; an agent needs the scope read alone.</Text>
          {mayMake && (
            <Button
              size="xs" variant="default" leftSection={<IconKey size={14} />} loading={make.isPending}
              onClick={() => make.mutate({ tenantId: tenant, displayName: all.find(({ id }) => id === client)!.client, scopes: ["read"], ...(server && server.name !== "default" && { servers: { names: [server.name] } }) })}
            >
              Make a key and put it in
            </Button>
          )}
        </Group>
      )}
      <Tabs value={client} onChange={(next) => setClient(next ?? all[0]!.id)} keepMounted={false}>
        <Tabs.List aria-label="Clients">{all.map((s) => <Tabs.Tab key={s.id} value={s.id}>{s.client}</Tabs.Tab>)}</Tabs.List>
        {all.map((s) => (
          <Tabs.Panel key={s.id} value={s.id} pt="sm">
            <Text size="sm" mb={6}>{s.where}</Text>
            <Code text={s.text} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
