import { Tabs, Text } from "@mantine/core";
import { useSession } from "@/app/session";
import { Code } from "@/ui/Code";
import { mcpSnippets, snippets } from "./snippets";

/** Connect shows how clients are connected with the service, or with one of its MCP servers. */
export function Connect({ server }: { server?: { name: string; url: string } }) {
  const { info, tenant } = useSession();
  const address = info.publicUrl || window.location.origin;
  const all = (server ? mcpSnippets(address, server) : snippets(address)).map((s) => ({ ...s, id: s.client.toLowerCase().replaceAll(" ", "-") }));
  return (
    <>
      <Text size="sm" c="dimmed">
        Replace <code>RAGD_API_KEY</code> by a key of the tenant {tenant}; an agent needs the scope read alone.
      </Text>
      <Tabs defaultValue={all[0]!.id} keepMounted={false}>
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
