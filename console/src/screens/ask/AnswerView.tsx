import { Alert, Button, Group, List, Skeleton, Stack, Text } from "@mantine/core";
import { IconAffiliate } from "@tabler/icons-react";
import { useMemo } from "react";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { ErrorView } from "@/ui/ErrorView";
import { Facts } from "@/ui/Facts";
import { millis, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { RawSwitch } from "@/ui/text/Prose";
import classes from "./Ask.module.css";
import { CopyAs } from "./CopyAs";
import { oneIndex } from "./indexes";
import { useJudge, useUnanswered } from "./judge";
import { move, ranks } from "./Moves";
import { ResultCard } from "./ResultCard";
import type { Answer } from "./run";
import { placeAddress, type AskSettings } from "./settings";
import { NoAnswer } from "./Thumbs";
import { useAnswer } from "./useAnswer";

interface Props {
  question: string;
  settings: AskSettings;
  /** Settings whose ranks the results are compared with. */
  before?: AskSettings;
}

/** AnswerView asks a question and shows what it found, how, and how long it took. */
export function AnswerView({ question, settings, before }: Props) {
  const { canWrite } = useSession();
  const one = oneIndex(settings.index);
  const unanswered = useUnanswered(question, one, canWrite && one !== "");
  const other = useAnswer(before ? question : "", before ?? settings).data?.sources;
  const ranked = useMemo(() => (before && other ? ranks(other) : undefined), [before !== undefined, other]); // eslint-disable-line
  const answer = useAnswer(question, settings);
  const queryId = answer.data?.queryId ?? "";
  const judge = useJudge(question, settings.index, queryId);
  if (answer.isPending) return <Stack aria-busy><Skeleton h={110} /><Skeleton h={110} /><Skeleton h={110} /></Stack>;
  if (answer.isError) return <ErrorView error={answer.error} retry={() => void answer.refetch()} />;
  const { sources, warnings, plan, context } = answer.data;
  const top = Math.max(...sources.map((source) => source.score), 1e-9);
  return (
    <Stack data-stale={answer.isPlaceholderData || undefined}>
      <Group justify="space-between">
        <Text size="sm" role="status">{plural(sources.length, "result")} in {millis(answer.data.roundTrip)}</Text>
        <Group gap="xs">
          <RawSwitch />
          {settings.mode === "graph" && one && <Button size="xs" variant="default" component={Link} to={`/graph?index=${encodeURIComponent(one)}&question=${encodeURIComponent(question)}`} leftSection={<IconAffiliate size={14} />}>Draw the walk</Button>}
          {canWrite && one && <NoAnswer unanswered={unanswered} />}
          <CopyAs question={question} settings={settings} />
        </Group>
      </Group>
      {warnings.length > 0 && <Alert color="yellow" title="Notices"><List size="sm">{warnings.map((warning) => <List.Item key={warning}>{warning}</List.Item>)}</List></Alert>}
      {sources.length === 0 && <Panel><Text size="sm">Nothing was found. A filter may exclude everything, or the documents are still in work.</Text></Panel>}
      {sources.map((source, i) => (
        <ResultCard key={source.id} rank={i + 1} source={source} question={question} place={placeAddress(question, settings, i + 1)} indexName={source.indexName || answer.data.indexName} top={top} judge={queryId && source.uri && !answer.isPlaceholderData ? judge : undefined} moved={ranked && move(ranked.get(source.id), i + 1)} />
      ))}
      <Panel>
        <details className={classes.how}>
          <summary>How it was found: {millis(answer.data.stages.reduce((sum, stage) => sum + stage.durationMs, 0))} in the service</summary>
          <h2>Time</h2>
          <Stages answer={answer.data} />
          <h2>Plan</h2>
          <Facts facts={[...plan, ...context.map((value): [string, string] => [`${value.name} (${value.origin})`, value.secret ? "secret" : JSON.stringify(value.value)])]} />
        </details>
      </Panel>
    </Stack>
  );
}

/** Stages draws the stages of a query below each other, each where it began. */
function Stages({ answer }: { answer: Answer }) {
  const total = Math.max(answer.stages.reduce((sum, stage) => sum + stage.durationMs, 0), 1e-6);
  let began = 0;
  const rows = answer.stages.map((stage) => {
    const row = { ...stage, began };
    began += stage.durationMs;
    return row;
  });
  return (
    <>
      <div className={classes.stages}>
        {rows.flatMap((row, i) => [
          <span key={`${i}n`}>{row.name}</span>,
          <div key={`${i}t`} className={classes.track}><div className={classes.span} style={{ insetInlineStart: `${(100 * row.began) / total}%`, width: `${(100 * row.durationMs) / total}%` }} /></div>,
          <span key={`${i}d`}>{millis(row.durationMs)}</span>,
          <span key={`${i}c`}>{row.candidates > 0 && plural(row.candidates, "chunk")}</span>,
        ])}
      </div>
      <Text size="xs" c="dimmed">
        {millis(total)} in the service, {millis(answer.roundTrip)} with the way to this page.
        {answer.reranking && ` Reranking: ${answer.reranking.calls} calls, ${answer.reranking.inputTokens + answer.reranking.outputTokens} tokens, ${answer.reranking.cached} of ${answer.reranking.candidates} scores from the cache.`}
      </Text>
    </>
  );
}
