import { Anchor, Button, Skeleton, Stack } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { EvaluateService, type QuestionSet } from "@/gen/ragd/v1/evaluate_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { count } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useFlag } from "@/ui/useParameter";
import { CreateSet } from "./CreateSet";
import { Runs } from "./Runs";
import { setPath } from "./words";

/** Evaluate lists the question sets of the tenant and the last runs. */
export default function Evaluate() {
  const session = useSession();
  const [creating, setCreating] = useFlag("create");
  if (session.tenant === "") return <Page title="Evaluate"><Empty title="Choose a tenant">You are signed in as the operator. Choose above whose questions you want to see.</Empty></Page>;
  if (session.who.tools || session.who.servers) return <Page title="Evaluate"><Empty title="Your key may not read this">It is bound to tools or servers, and may call tools only.</Empty></Page>;
  const create = session.canWrite && <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>Create a question set</Button>;
  return (
    <Page title="Evaluate" about="Questions whose answers are known measure how well an index or an agent answers." actions={create}>
      <Sets create={create} />
      <CreateSet opened={creating} onClose={() => setCreating(false)} />
    </Page>
  );
}

const columns: Column<QuestionSet>[] = [
  { head: "Question set", cell: (set) => <Anchor component={Link} to={setPath(set.setName)} fw={600} size="sm">{set.setName}</Anchor> },
  { head: "Description", cell: (set) => <span dir="auto">{set.description}</span> },
  { head: "Index", cell: (set) => <Anchor component={Link} to={`/indexes/${encodeURIComponent(set.indexName)}`} size="sm">{set.indexName}</Anchor>, narrow: true },
  { head: "Questions", cell: (set) => count(set.questionCount), numeric: true, narrow: true },
  { head: "To review", cell: (set) => (set.draftedCount > 0 ? count(set.draftedCount) : ""), numeric: true, narrow: true },
  { head: "Changed", cell: (set) => <Time value={set.updateTime} />, narrow: true },
];

function Sets({ create }: { create: React.ReactNode }) {
  const sets = useInfiniteQuery(EvaluateService.method.listQuestionSets, { pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  if (sets.isPending) return <Stack gap="xs" aria-busy><Skeleton h={28} /><Skeleton h={28} /><Skeleton h={28} /></Stack>;
  if (sets.isError) return <ErrorView error={sets.error} retry={() => void sets.refetch()} />;
  const rows = sets.data.pages.flatMap((page) => page.questionSets);
  if (rows.length === 0) {
    return <Empty title="No question set yet" action={create}>Collect questions that people ask and name the documents that answer them, have questions drafted from the documents, or import a file with <code>ragd eval set import</code>.</Empty>;
  }
  return (
    <>
      <Panel title="Question sets"><Table label="Question sets" columns={columns} rows={rows} id={(set) => set.setName} more={sets.hasNextPage ? () => void sets.fetchNextPage() : undefined} loading={sets.isFetching} /></Panel>
      <Panel title="Runs"><Runs /></Panel>
    </>
  );
}
