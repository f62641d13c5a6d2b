import { Anchor, Button, Checkbox, Group, Skeleton, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { EvaluateService, type Evaluation } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";
import { count } from "@/ui/format";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { comparePath, runName, runPath, setPath, settingsText, value } from "./words";

/** Runs lists runs, newest first, those of one set or all, and opens two of them side by side. */
export function Runs({ setName = "" }: { setName?: string }) {
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<string[]>([]);
  const runs = useInfiniteQuery(EvaluateService.method.listEvaluations, { setName, pageSize: 50, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  if (runs.isPending) return <Skeleton h={90} aria-busy />;
  if (runs.isError) return <ErrorView error={runs.error} retry={() => void runs.refetch()} />;
  const rows = runs.data.pages.flatMap((page) => page.evaluations);
  if (rows.length === 0) return <Text size="sm" c="dimmed">No run yet. Start one to see how well {setName ? "these questions are" : "the questions of a set are"} answered.</Text>;

  const toggle = (id: string) => setChosen((before) => (before.includes(id) ? before.filter((other) => other !== id) : [...before, id].slice(-2)));
  const columns: Column<Evaluation>[] = [
    { head: "Compare", narrow: true, cell: (run) => <Checkbox size="xs" aria-label={`Compare ${runName(run)}`} checked={chosen.includes(run.evaluationId)} disabled={run.job?.status !== "succeeded" && run.measures.length === 0} onChange={() => toggle(run.evaluationId)} /> },
    { head: "Run", cell: (run) => <><Anchor component={Link} to={runPath(run.evaluationId)} fw={600} size="sm" dir="auto">{runName(run)}</Anchor><Text size="xs" c="dimmed">{run.label ? `${settingsText(run)}, ` : ""}index {run.indexName}</Text></> },
    ...(setName ? [] : [{ head: "Question set", cell: (run: Evaluation) => <Anchor component={Link} to={setPath(run.setName)} size="sm">{run.setName}</Anchor>, narrow: true }]),
    { head: "Status", cell: (run) => <Status value={run.job?.status ?? (run.measures.length > 0 ? "succeeded" : "ended")} />, narrow: true },
    { head: "Questions", cell: (run) => count(run.questionCount), numeric: true, narrow: true },
    { head: "Main measure", cell: (run) => <Main run={run} />, narrow: true },
    { head: "Started", cell: (run) => <Time value={run.createTime} />, narrow: true },
  ];
  const rank = (id: string) => rows.findIndex((run) => run.evaluationId === id);
  const pair = [...chosen].sort((a, b) => rank(b) - rank(a)); // the older one is the baseline
  return (
    <>
      <Table label="Runs" columns={columns} rows={rows} id={(run) => run.evaluationId} more={runs.hasNextPage ? () => void runs.fetchNextPage() : undefined} loading={runs.isFetching} />
      <Group>
        <Button size="xs" variant="default" disabled={pair.length !== 2} onClick={() => void navigate(comparePath(pair[0]!, pair[1]!))}>Compare two runs</Button>
        {pair.length !== 2 && <Text size="sm" c="dimmed">Choose two runs that have succeeded.</Text>}
      </Group>
    </>
  );
}

function Main({ run }: { run: Evaluation }) {
  const main = run.measures.findLast((measure) => measure.name.startsWith("ndcg@")) ?? run.measures[0];
  if (!main) return null;
  return <span>{main.name} <b>{value(main.name, main.value)}</b> <Text span size="xs" c="dimmed">{value(main.name, main.low)} – {value(main.name, main.high)}</Text></span>;
}
