import { Anchor, Text } from "@mantine/core";
import { Link } from "react-router";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { Panel } from "@/ui/Page";
import classes from "./Ask.module.css";
import { useAnswer } from "./useAnswer";
import type { AskSettings } from "./settings";

/** height is that of a row, in px; most how many rows are drawn. */
const height = 26, most = 20;

/** Moves draws which result of A is which of B. */
export function Moves({ question, a, b }: { question: string; a: AskSettings; b: AskSettings }) {
  const left = useAnswer(question, a).data?.sources.slice(0, most), right = useAnswer(question, b).data?.sources.slice(0, most);
  if (!left || !right || left.length + right.length === 0) return null;
  const before = ranks(left), after = ranks(right);
  const shared = left.filter((source) => after.has(source.id));
  const moved = shared.filter((source) => before.get(source.id) !== after.get(source.id));
  const rows = Math.max(left.length, right.length);
  return (
    <Panel title="From A to B">
      <Text size="sm" role="status">
        {shared.length} of {left.length} results of A are results of B; {moved.length === 0 ? "none of them has moved" : `${moved.length} of them moved`}.
        {a.profile !== b.profile && <> <Anchor component={Link} inherit underline="always" to="/evaluate">Measure both profiles on a question set</Anchor></>}
      </Text>
      <div className={classes.moves}>
        <List name="A" sources={left} note={(source) => (after.has(source.id) ? "" : "not in B")} />
        <svg className={classes.lines} width={48} height={rows * height} viewBox={`0 0 48 ${rows * height}`} aria-hidden>
          {shared.map((source) => {
            const from = before.get(source.id)!, to = after.get(source.id)!;
            const [y1, y2] = [from, to].map((rank) => (rank - 0.5) * height);
            return <path key={source.id} d={`M0 ${y1} C24 ${y1} 24 ${y2} 48 ${y2}`} data-way={wayOf(from, to)} />;
          })}
        </svg>
        <List name="B" sources={right} note={(source) => move(before.get(source.id), after.get(source.id)!)} />
      </div>
    </Panel>
  );
}

function List({ name, sources, note }: { name: string; sources: Source[]; note: (source: Source) => string }) {
  return (
    <ol className={classes.ranked} aria-label={`Results of ${name}`}>
      {sources.map((source, i) => (
        <li key={source.id} style={{ height }}>
          <span>{i + 1}.</span>
          <span className={classes.name} dir="auto" title={source.title || source.uri || source.id}>{source.title || source.uri || source.id}</span>
          <small>{note(source)}</small>
        </li>
      ))}
    </ol>
  );
}

/** ranks returns the ranks of sources by their ids. */
export function ranks(sources: Source[]): Map<string, number> {
  return new Map(sources.map((source, i) => [source.id, i + 1]));
}

/** move says in words how a result has moved. */
export function move(before: number | undefined, after: number): string {
  if (before === undefined) return "new";
  if (before === after) return "";
  return before > after ? `▲ ${before - after}` : `▼ ${after - before}`;
}

function wayOf(from: number, to: number): string {
  return from > to ? "up" : from < to ? "down" : "same";
}
