import { Anchor, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { AllowedNames } from "@/gen/ragd/v1/tenant_pb";
import { ServerService, type Server } from "@/gen/ragd/v1/server_pb";
import { Empty } from "@/ui/Empty";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

const allowed = (names?: AllowedNames) => (names ? (names.names.length > 0 ? names.names.join(", ") : "none") : "all");

const columns: Column<Server>[] = [
  {
    head: "Name", cell: (server) => (
      <>
        <Anchor component={Link} to={`/servers/${encodeURIComponent(server.serverName)}`} fw={600}>{server.serverName}</Anchor>
        {server.title && server.title !== server.serverName && <Text size="xs" c="dimmed" dir="auto">{server.title}</Text>}
      </>
    ),
  },
  { head: "Address", cell: (server) => <Text size="sm" ff="monospace">{server.url}</Text> },
  { head: "Tools", cell: (server) => allowed(server.tools) },
  { head: "Prompts", cell: (server) => allowed(server.prompts) },
  { head: "Indexes", cell: (server) => allowed(server.indexes) },
  { head: "Changed", cell: (server) => <Time value={server.updateTime} />, narrow: true },
];

/** ServerList lists the MCP servers that the session may use. */
export function ServerList({ create }: { create: ReactNode }) {
  const servers = useInfiniteQuery(ServerService.method.listServers, { pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  return (
    <Loading query={servers}>
      {({ pages }) => {
        const rows = pages.flatMap((page) => page.servers);
        if (rows.length === 0) return <Empty title="No server of your own yet" action={create}>The address /mcp shows everything that a key may use. A server of your own shows what you choose, at /mcp/NAME.</Empty>;
        return <Panel><Table label="MCP servers" columns={columns} rows={rows} id={(server) => server.serverName} more={servers.hasNextPage ? () => void servers.fetchNextPage() : undefined} loading={servers.isFetchingNextPage} /></Panel>;
      }}
    </Loading>
  );
}
