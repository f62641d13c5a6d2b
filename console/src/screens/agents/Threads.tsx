import { Anchor, Button, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { refresh } from "@/app/queries";
import { AgentService, type Thread } from "@/gen/ragd/v1/agent_pb";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

/** Threads lists the caller's conversations with an agent, continues and deletes them. */
export function Threads({ agentName }: { agentName: string }) {
  const [deleting, setDeleting] = useState("");
  const remove = useMutation(AgentService.method.deleteThread);
  const threads = useInfiniteQuery(AgentService.method.listThreads, { agentName, pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined });
  const columns: Column<Thread>[] = [
    { head: "Conversation", cell: (thread) => <Anchor component={Link} to={`/agents/${encodeURIComponent(agentName)}?thread=${encodeURIComponent(thread.threadId)}`}>{thread.threadId}</Anchor> },
    { head: "Last message", cell: (thread) => <Text size="sm" dir="auto" lineClamp={2}>{thread.messages.at(-1)?.text}</Text> },
    { head: "Changed", cell: (thread) => <Time value={thread.updateTime} />, narrow: true },
    { head: "", cell: (thread) => <Button size="compact-xs" variant="light" color="red" aria-label={`Delete ${thread.threadId}`} onClick={() => setDeleting(thread.threadId)}>Delete</Button>, narrow: true },
  ];
  return (
    <Panel>
      <Loading query={threads}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.threads);
          if (rows.length === 0) return <Empty title="No conversations yet">They are those of your key: others do not see them.</Empty>;
          return <Table label="Conversations" columns={columns} rows={rows} id={(thread) => thread.threadId} more={threads.hasNextPage ? () => void threads.fetchNextPage() : undefined} loading={threads.isFetchingNextPage} />;
        }}
      </Loading>
      <Confirm opened={deleting !== ""} onClose={() => setDeleting("")} title={`Delete ${deleting}?`} action="Delete" onConfirm={async () => {
        await remove.mutateAsync({ agentName, threadId: deleting });
        await refresh(AgentService);
      }}>
        The agent forgets what was said.
      </Confirm>
    </Panel>
  );
}
