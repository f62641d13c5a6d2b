import { Popover, UnstyledButton } from "@mantine/core";
import { useId, useMemo, useState } from "react";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { toRanges } from "@/ui/text/ranges";
import classes from "./Ask.module.css";

/** Why says why a result was found: terms, title, scores and the way through the graph, while its button has the mouse or the focus. */
export function Why({ source, question, top }: { source: Source; question: string; top: number }) {
  const [opened, setOpened] = useState(false);
  const id = useId();
  const close = () => setOpened(false);
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" withArrow withRoles={false} trapFocus={false} returnFocus={false}>
      <Popover.Target>
        <UnstyledButton className={classes.why} aria-describedby={opened ? id : undefined} onMouseEnter={() => setOpened(true)} onMouseLeave={close} onFocus={() => setOpened(true)} onBlur={close} onClick={() => setOpened(true)}>
          <span className={classes.meter} aria-hidden><span className={classes.fill} style={{ width: `${100 * Math.min(Math.max(source.score / top, 0), 1)}%` }} /></span>
          {source.score.toPrecision(3)} <span className={classes.underlined}>Why this result</span>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown id={id} role="tooltip" w="min(24rem, 92vw)">{opened && <Reasons source={source} question={question} top={top} />}</Popover.Dropdown>
    </Popover>
  );
}

function Reasons({ source, question, top }: { source: Source; question: string; top: number }) {
  const terms = useMemo(() => matching(source), [source]);
  const named = inTitle(source.title, question);
  return (
    <dl className={classes.reasons}>
      <dt>Terms</dt>
      <dd dir="auto">{terms.length > 0 ? terms.map(([term, n], i) => <span key={term}>{i > 0 && ", "}<mark>{term}</mark>{n > 1 && ` ${n} times`}</span>) : "none of the question stands in it"}</dd>
      {source.title && <><dt>Title</dt><dd dir="auto">{named.length > 0 ? named.map((word, i) => <span key={word}>{i > 0 && ", "}<mark>{word}</mark></span>) : "names no term of the question"}</dd></>}
      {source.topic && <><dt>Topic</dt><dd dir="auto">{source.topic}</dd></>}
      {source.path && <><dt>Way through the graph</dt><dd dir="auto">{source.path}</dd></>}
      <dt>Scores</dt>
      <dd><Scores source={source} top={top} /></dd>
    </dl>
  );
}

/** matching returns the words of a source that match, as they stand there first, with their number. */
function matching(source: Source): [string, number][] {
  const found = new Map<string, [string, number]>();
  for (const { start, end } of toRanges(source.document, source.highlight?.matches ?? [])) {
    const word = source.document.slice(start, end);
    const old = found.get(word.toLowerCase());
    if (old) old[1]++;
    else found.set(word.toLowerCase(), [word, 1]);
  }
  return [...found.values()].sort((a, b) => b[1] - a[1]).slice(0, 12);
}

/** inTitle returns the words of a title that the question has too; word forms that begin the same count as one. */
function inTitle(title: string, question: string): string[] {
  const stem = (word: string) => word.toLowerCase().slice(0, Math.max(4, word.length - 2));
  const asked = new Set((question.match(/[\p{L}\p{N}]{3,}/gu) ?? []).map(stem));
  return [...new Set(title.match(/[\p{L}\p{N}]{3,}/gu) ?? [])].filter((word) => asked.has(stem(word)));
}

/** Scores draws the parts of a score as bars: the score relative to the best one, the parts from 0 to 1. */
function Scores({ source, top }: { source: Source; top: number }) {
  const rows: [string, number, number][] = [["score", source.score, source.score / top]];
  if (source.similarity !== undefined) rows.push(["similarity", source.similarity, source.similarity]);
  if (source.keywordScore !== undefined) rows.push(["keyword", source.keywordScore, source.keywordScore]);
  if (source.recency) rows.push(["time", source.recency.factor, source.recency.factor]);
  if (source.details) {
    rows.push([source.details.estimated ? "reranker (estimated)" : "reranker", source.details.semantic, source.details.semantic]);
    rows.push(["before reranking", source.details.vector, source.details.vector]);
    rows.push(["rank before", source.details.position, source.details.position]);
  }
  return (
    <div className={classes.scores}>
      {rows.flatMap(([name, value, share]) => [
        <span key={`${name}n`}>{name}</span>,
        <div key={`${name}b`} className={classes.bar}><div className={classes.fill} style={{ width: `${100 * Math.min(Math.max(share, 0), 1)}%` }} /></div>,
        <span key={`${name}v`}>{value.toPrecision(3)}</span>,
      ])}
    </div>
  );
}
