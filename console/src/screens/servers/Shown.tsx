import { Anchor, List, Stack, Text } from "@mantine/core";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { transport } from "@/app/transport";
import { ToolService, type Tool } from "@/gen/ragd/v1/tool_pb";
import type { Server } from "@/gen/ragd/v1/server_pb";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";

/** Shown lists the tools of a server as its clients see them, and its prompts. */
export function Shown({ server }: { server: Server }) {
  const { serverName } = server;
  const changed = server.updateTime && timestampDate(server.updateTime).getTime();
  const tools = useQuery({
    queryKey: ["connect-query", { serviceName: ToolService.typeName, methodName: "ListTools" }, serverName, changed], // events ask it again
    queryFn: ({ signal }) => createClient(ToolService, transport).listTools({ pageSize: 1000, includeBuiltin: true }, { signal, headers: { "Ragd-Server": serverName } }),
  });
  const columns: Column<Tool>[] = [
    { head: "Name", cell: (tool) => <Anchor component={Link} to={`/tools/${encodeURIComponent(tool.toolName)}?server=${encodeURIComponent(serverName)}`} fw={600}>{tool.toolName}</Anchor> },
    { head: "Title", cell: (tool) => <span dir="auto">{tool.title}</span> },
    { head: "Description", cell: (tool) => <Text size="sm" lineClamp={2} dir="auto">{tool.description}</Text> },
  ];
  return (
    <Stack>
      <Panel title="Tools">
        <Loading query={tools}>
          {({ tools }) => (tools.length > 0
            ? <Table label="Tools of the server" columns={columns} rows={tools} id={(tool) => tool.toolName} />
            : <Text size="sm" c="dimmed">The server shows no tool: either none is chosen, or what is chosen does not exist or is not for your key.</Text>)}
        </Loading>
      </Panel>
      <Panel title="Prompts">
        {server.prompts
          ? <List size="sm">{server.prompts.names.map((name) => <List.Item key={name}><Anchor component={Link} size="sm" to={`/prompts/${encodeURIComponent(name)}`}>{name}</Anchor></List.Item>)}{server.prompts.names.length === 0 && <Text size="sm" c="dimmed">None.</Text>}</List>
          : <Text size="sm">All prompts of the tenant, and the builtin ones.</Text>}
      </Panel>
    </Stack>
  );
}
