import { Stack, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useParams } from "react-router";
import { refresh } from "@/app/queries";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { CreateServerRequestSchema, ServerSchema, ServerService, type Server } from "@/gen/ragd/v1/server_pb";
import { Connect } from "@/screens/home/Connect";
import { Code } from "@/ui/Code";
import { Delete } from "@/ui/Delete";
import { Definition, definitionOf } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { useNames } from "@/ui/useNames";
import { useParameter } from "@/ui/useParameter";
import { serverFields, updateServer } from "./definition";
import { Shown } from "./Shown";

/** ServerScreen shows an MCP server: its address, what it shows, its definition, and its registry document. */
export default function ServerScreen() {
  const { server = "" } = useParams();
  return <OfTenant title={server}><Details key={server} serverName={server} /></OfTenant>;
}

function Details({ serverName }: { serverName: string }) {
  const [tab, setTab] = useParameter("tab", "connect");
  const server = useQuery(ServerService.method.getServer, { serverName });
  return (
    <Page title={serverName} about={server.data && <span dir="auto">{server.data.description || server.data.title}</span>} crumbs={[{ to: "/tools?tab=servers", label: "MCP servers" }]}>
      <Loading query={server}>
        {(server) => (
          <Tabs value={tab} onChange={(next) => setTab(next ?? "connect")} keepMounted={false}>
            <Tabs.List aria-label="Parts of the server" mb="md">
              <Tabs.Tab value="connect">Connect</Tabs.Tab>
              <Tabs.Tab value="tools">Tools and prompts</Tabs.Tab>
              <Tabs.Tab value="definition">Definition</Tabs.Tab>
              <Tabs.Tab value="registry">Registry</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="connect">
              <Panel title="Address for MCP clients">
                <Code text={server.url} label="Copy the address" />
                <Connect server={{ name: server.serverName, url: server.url }} />
              </Panel>
            </Tabs.Panel>
            <Tabs.Panel value="tools"><Shown server={server} /></Tabs.Panel>
            <Tabs.Panel value="definition"><Edit server={server} /></Tabs.Panel>
            <Tabs.Panel value="registry">
              <Panel title="server.json of the MCP registry">
                <Text size="sm" c="dimmed">For publishing. The name in it and the version are changed in the definition.</Text>
                <Code text={JSON.stringify(server.registryDocument ?? {}, null, 2)} label="Copy the document" />
              </Panel>
            </Tabs.Panel>
          </Tabs>
        )}
      </Loading>
    </Page>
  );
}

function Edit({ server }: { server: Server }) {
  const session = useSession();
  const names = useNames();
  const update = useMutation(ServerService.method.updateServer);
  const remove = useMutation(ServerService.method.deleteServer);
  const why = whyNotChange(session);
  const value = definitionOf(ServerSchema, server, CreateServerRequestSchema);
  if (why) return <Panel><Text size="sm" c="dimmed">{why}</Text><Code text={JSON.stringify(value, null, 2)} /></Panel>;
  return (
    <Stack>
      <Panel>
        <Definition
          schema={CreateServerRequestSchema} fields={serverFields({ stored: true, ...names })} value={value} action="Save" stored
          onSave={async (definition) => {
            await update.mutateAsync(updateServer(definition));
            await refresh(ServerService);
            notifyDone("Saved. Connected clients are told.");
          }}
        />
      </Panel>
      <Delete
        what={`the server ${server.serverName}`} name={server.serverName} to="/tools?tab=servers"
        onDelete={() => remove.mutateAsync({ serverName: server.serverName })}
      >
        Its clients are disconnected. Keys that are bound to it reach nothing.
      </Delete>
    </Stack>
  );
}
