import { Button, Text, Title } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { IndexService, type Index, type NotableQuestion } from "@/gen/ragd/v1/index_pb";
import { useUnanswered } from "@/screens/ask/judge";
import { ErrorView } from "@/ui/ErrorView";
import { millis, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Time } from "@/ui/Time";
import classes from "./Home.module.css";

const kinds = { unanswered: "Without an answer", slow: "Slow", failed: "Failed" };
type Kind = keyof typeof kinds;

/** few and many are how many questions of a kind are shown, at first and on request. */
const few = 5;
const many = 100;

/** Questions lists what was asked in the last days and found nothing, took long or failed. */
export function Questions({ indexes }: { indexes: Index[] }) {
  const lists = { unanswered: useList("unanswered"), slow: useList("slow"), failed: useList("failed") };
  const all = Object.values(lists);
  const error = all.find(({ error }) => error)?.error;
  const shown = (Object.keys(kinds) as Kind[]).filter((kind) => lists[kind].questions.length > 0);
  if (all.some(({ isPending }) => isPending)) return null;
  const none = indexes.some(({ recordQuestions }) => recordQuestions) ? "In the last 14 days every question found something, soon and without a failure." : "The indexes record no questions: see their settings.";
  return (
    <Panel title="Questions to look at">
      {error && <ErrorView error={error} />}
      {!error && shown.length === 0 && <Text size="sm" c="dimmed">{none}</Text>}
      {shown.map((kind) => (
        <section key={kind} aria-label={kinds[kind]}>
          <Title order={3} size="sm" mb={4}>{kinds[kind]}</Title>
          <ul className={classes.questions}>{lists[kind].questions.map((question) => <Row key={JSON.stringify([question.indexName, question.namespace, question.text])} kind={kind} question={question} />)}</ul>
          {lists[kind].more && <Button size="compact-xs" variant="subtle" onClick={lists[kind].more}>Show more</Button>}
        </section>
      ))}
    </Panel>
  );
}

function useList(kind: Kind) {
  const [pageSize, setPageSize] = useState(few);
  const { data, error, isPending } = useQuery(IndexService.method.listNotableQuestions, { kind, pageSize }, { placeholderData: (last) => last });
  return { questions: data?.questions ?? [], error, isPending, more: data?.nextPageToken && pageSize === few ? () => setPageSize(many) : undefined };
}

/** Row is a question, which opens in Ask, with how often it was asked and why it is shown. */
function Row({ kind, question: { indexName, namespace, text, count, lastTime, bestScore, slowestMs, code } }: { kind: Kind; question: NotableQuestion }) {
  const address = new URLSearchParams({ index: indexName, question: text, ...(namespace !== "default" && { namespace }) });
  return (
    <li>
      <div>
        <Link to={`/ask?${address}`} dir="auto">{text}</Link>
        <Text size="xs" c="dimmed">
          {indexName}{namespace !== "default" && `, ${namespace}`} · {count > 1n && `asked ${plural(count, "time")}, last `}<Time value={lastTime} />
          {kind === "unanswered" && (bestScore === undefined ? " · found nothing" : ` · best score ${bestScore.toFixed(2)}`)}
          {kind === "slow" && ` · ${millis(slowestMs)}`}
          {kind === "failed" && ` · ${code}`}
        </Text>
      </div>
      {kind === "unanswered" && <Save question={text} indexName={indexName} />}
    </li>
  );
}

/** Save stores a question as one that no document answers. */
function Save({ question, indexName }: { question: string; indexName: string }) {
  const { canWrite } = useSession();
  const { setName, stored, toggle } = useUnanswered(question, indexName, canWrite);
  if (!canWrite) return null;
  return <Button size="compact-xs" variant={stored ? "light" : "default"} aria-pressed={stored} title={`In the question set ${setName}`} onClick={toggle}>{stored ? "Saved as unanswered" : "Save as unanswered"}</Button>;
}
