import { Anchor, Text, TextInput } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery } from "@tanstack/react-query";
import { IconSearch } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { transport } from "@/app/transport";
import { ToolService, type Tool } from "@/gen/ragd/v1/tool_pb";
import { Empty } from "@/ui/Empty";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useParameter } from "@/ui/useParameter";
import { Kind } from "./Kind";
import { useServer } from "./ServerSelect";
import classes from "./Tools.module.css";

const columnsOf = (search: string): Column<Tool>[] => [
  {
    head: "Name", cell: (tool) => (
      <div className={classes.name}>
        <Anchor component={Link} to={{ pathname: `/tools/${encodeURIComponent(tool.toolName)}`, search }} fw={600} size="sm">{tool.toolName}</Anchor>
        {tool.title && tool.title !== tool.toolName && <Text size="xs" c="dimmed" dir="auto">{tool.title}</Text>}
      </div>
    ),
  },
  { head: "Kind", cell: (tool) => <Kind tool={tool} />, narrow: true },
  { head: "Description", cell: (tool) => <Text size="sm" lineClamp={2} className={classes.description} dir="auto">{tool.description}</Text> },
  { head: "A call", cell: (tool) => (tool.writes ? "changes data" : "reads"), narrow: true },
  ];

const changed: Column<Tool> = { head: "Changed", cell: (tool) => <Time value={tool.updateTime} />, narrow: true };

/** ToolList lists the tools that the session may call: those of the tenant, and the builtin ones. */
export function ToolList({ create }: { create: ReactNode }) {
  const [search, setSearch] = useParameter("search");
  const server = useServer()[0];
  const columns = columnsOf(server ? `?server=${encodeURIComponent(server)}` : "");
  const tools = useInfiniteQuery({
    queryKey: ["connect-query", { serviceName: ToolService.typeName, methodName: "ListTools" }, "all", server], // events ask it again
    queryFn: ({ signal, pageParam }) => createClient(ToolService, transport).listTools({ pageSize: 1000, pageToken: pageParam, includeBuiltin: true }, { signal, headers: server ? { "Ragd-Server": server } : undefined }),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextPageToken || undefined,
  });
  return (
    <Loading query={tools}>
      {({ pages }) => {
        const all = pages.flatMap((page) => page.tools);
        const wanted = search.trim().toLowerCase();
        const rows = all.filter((tool) => `${tool.toolName}\n${tool.title}\n${tool.description}\n${tool.kind}`.toLowerCase().includes(wanted));
        if (all.length === 0) return <Empty title="No tool that you may call">Your key is bound to tools or servers, and what it names does not exist.</Empty>;
        const own = rows.filter((tool) => !tool.builtin);
        const builtin = rows.filter((tool) => tool.builtin);
        return (
          <div className={classes.lists}>
            <TextInput aria-label="Search tools" placeholder="Search tools" leftSection={<IconSearch size={16} />} maw="24rem" value={search} onChange={(event) => setSearch(event.currentTarget.value)} />
            {own.length > 0 && <Panel title="Your tools"><Table label="Your tools" columns={[...columns, changed]} rows={own} id={(tool) => tool.toolName} /></Panel>}
            {own.length === 0 && !search && create && (
              <Empty title="No tool of your own yet" action={create}>
                Make one of a builtin kind: a search with a fixed index and filter, a request to a service of yours, or a tool of another MCP server.
              </Empty>
            )}
            {(builtin.length > 0 || own.length === 0) && (
              <Panel title="Builtin tools">
                <Table label="Builtin tools" columns={columns} rows={builtin} id={(tool) => tool.toolName} more={tools.hasNextPage ? () => void tools.fetchNextPage() : undefined} loading={tools.isFetchingNextPage} />
              </Panel>
            )}
          </div>
        );
      }}
    </Loading>
  );
}
