import { Anchor, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { PromptService, type Prompt } from "@/gen/ragd/v1/prompt_pb";
import { Empty } from "@/ui/Empty";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

const columns: Column<Prompt>[] = [
  {
    head: "Name", cell: (prompt) => (
      <>
        <Anchor component={Link} to={`/prompts/${encodeURIComponent(prompt.promptName)}`} fw={600}>{prompt.promptName}</Anchor>
        {prompt.title && <Text size="xs" c="dimmed" dir="auto">{prompt.title}</Text>}
      </>
    ),
  },
  { head: "Description", cell: (prompt) => <Text size="sm" lineClamp={2} dir="auto">{prompt.description}</Text> },
  { head: "Arguments", cell: (prompt) => prompt.arguments.map((argument) => argument.name).join(", ") },
  { head: "Version", cell: (prompt) => `${prompt.version}${prompt.versionName && ` (${prompt.versionName})`}`, narrow: true },
  { head: "Changed", cell: (prompt) => <Time value={prompt.createTime} />, narrow: true },
];

/** PromptList lists the prompts of the tenant. */
export function PromptList({ create }: { create: ReactNode }) {
  const prompts = useInfiniteQuery(PromptService.method.listPrompts, { pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  return (
    <Loading query={prompts}>
      {({ pages }) => {
        const rows = pages.flatMap((page) => page.prompts);
        if (rows.length === 0) return <Empty title="No prompt of your own yet" action={create}>Agents offer prompts to their users, such as slash commands. The builtin ones are there without doing anything.</Empty>;
        return <Panel><Table label="Prompts" columns={columns} rows={rows} id={(prompt) => prompt.promptName} more={prompts.hasNextPage ? () => void prompts.fetchNextPage() : undefined} loading={prompts.isFetchingNextPage} /></Panel>;
      }}
    </Loading>
  );
}
