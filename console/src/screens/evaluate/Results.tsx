import { Button, SegmentedControl, Skeleton, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { useAllPages } from "@/app/pages";
import { EvaluateService, type Evaluation } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";
import { count } from "@/ui/format";
import { Result } from "./Result";
import { grade, worstFirst, type Grade } from "./grades";
import classes from "./Evaluate.module.css";

/** step is how many results are shown at first, and added by "Show more". */
const step = 50;

/** pageSize is how many results a call loads. While a run is going on, these alone are shown. */
export const pageSize = 500;

/** Results lists what each question of a run got, those that went wrong first. */
export function Results({ run }: { run: Evaluation }) {
  const [parameters, setParameters] = useSearchParams();
  const [shown, setShown] = useState(step);
  const only = parameters.get("show") ?? "all";
  const results = useInfiniteQuery(EvaluateService.method.listEvaluationResults, { evaluationId: run.evaluationId, pageSize, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  const live = run.job?.status === "queued" || run.job?.status === "running";
  useAllPages(results, !live); // they are sorted here
  if (results.isPending) return <Skeleton h={160} aria-busy />;
  if (results.isError) return <ErrorView error={results.error} retry={() => void results.refetch()} />;
  const all = results.data.pages.flatMap((page) => page.results).sort(worstFirst);
  if (all.length === 0) return <Text size="sm" c="dimmed">{run.measures.length > 0 ? "The results are no longer kept; the measures are." : "No question has been asked yet."}</Text>;
  const of = (wanted: Grade) => all.filter((result) => grade(result) === wanted);
  const options = [
    { value: "all", label: `All (${count(all.length)})` },
    { value: "failed", label: `Failed (${count(of("failed").length)})` },
    { value: "partial", label: `In part (${count(of("partial").length)})` },
    { value: "good", label: `Good (${count(of("good").length)})` },
  ];
  const rows = only === "all" ? all : all.filter((result) => grade(result) === only);
  return (
    <>
      <div className={classes.wide}>
        <SegmentedControl size="xs" aria-label="Which results" value={only} onChange={(show) => setParameters(show === "all" ? {} : { show }, { replace: true })} data={options} />
      </div>
      {live && results.hasNextPage && <Text size="sm" c="dimmed">These are the first {count(all.length)} questions. All are shown once the run has ended.</Text>}
      {rows.length === 0 && <Text size="sm" c="dimmed">No question is one of these.</Text>}
      <ul className={classes.results} aria-label="Results">
        {rows.slice(0, shown).map((result) => <Result key={result.questionId} result={result} />)}
      </ul>
      {rows.length > shown && <div><Button size="xs" variant="default" onClick={() => setShown(shown + step)}>Show more</Button></div>}
    </>
  );
}
