import { Select } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { onlyTools, serversOf } from "@/app/rights";
import { useSession } from "@/app/session";
import { ServerService } from "@/gen/ragd/v1/server_pb";
import { useParameter } from "@/ui/useParameter";

/** useServer returns the MCP server through which tools are seen and called, "" for none. A key that is bound to servers has one always. */
export function useServer(): [server: string, set: (server: string) => void] {
  return useParameter("server", serversOf(useSession())[0] ?? "");
}

/** ServerSelect chooses the MCP server through which tools are seen and called. */
export function ServerSelect() {
  const session = useSession();
  const [server, setServer] = useServer();
  const servers = useQuery(ServerService.method.listServers, { pageSize: 1000 }, { retry: false, enabled: !onlyTools(session) });
  const bound = serversOf(session);
  const names = [...new Set([server, ...bound, ...(servers.data?.servers.map((s) => s.serverName) ?? [])].filter(Boolean))];
  if (names.length === 0) return null;
  return (
    <Select
      label="As this MCP server shows it" placeholder="None: by its own name" size="xs" w="15rem" data={names} value={server || null}
      onChange={(next) => setServer(next ?? "")} clearable={bound.length === 0} allowDeselect={bound.length === 0}
    />
  );
}
