import { Skeleton, Switch, UnstyledButton } from "@mantine/core";
import { useIntersection, useLocalStorage } from "@mantine/hooks";
import { lazy, Suspense, useMemo, useState, type ReactNode } from "react";
import { toRanges, windowOf, type ByteRange, type Range } from "./ranges";
import classes from "./Text.module.css";

const loading = import("./Markdown"); // with the first screen that shows texts
const Markdown = lazy(() => loading);

interface Props {
  text: string;
  /** Whether the text is Markdown; other texts are shown as they are. */
  markdown: boolean;
  /** Ranges that are marked. */
  matches?: ByteRange[];
  /** The best sentences. Of a long text only these, and what is around them, are shown at first. */
  best?: ByteRange;
  citations?: Set<number>;
  lead?: string;
}

const none: ByteRange[] = [];

/** Prose shows a text as people read it, or raw if they have chosen that. */
export function Prose({ text, markdown, matches = none, best, citations, lead }: Props) {
  const [raw] = useRaw();
  const [all, setAll] = useState(false);
  const marks = useMemo(() => toRanges(text, matches), [text, matches]);
  const around = useMemo(() => windowOf(text, best && toRanges(text, [best])[0]), [text, best]);
  const shown = all ? undefined : around;
  const plain = <div className={classes.plain} dir="auto">{markedText(text, marks, shown)}</div>;
  return (
    <>
      {markdown && !raw ? <Suspense fallback={plain}><Markdown text={text} marks={marks} window={shown} citations={citations} lead={lead} /></Suspense> : plain}
      {around && <div><UnstyledButton className={classes.more} aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Show the best sentences" : "Show the whole passage"}</UnstyledButton></div>}
    </>
  );
}

function markedText(text: string, marks: Range[], shown: Range = { start: 0, end: text.length }): ReactNode[] {
  const out: ReactNode[] = shown.start > 0 ? ["… "] : [];
  let at = shown.start;
  for (const { start, end } of marks) {
    if (start < at || end > shown.end) continue;
    out.push(text.slice(at, start), <mark key={start}>{text.slice(start, end)}</mark>);
    at = end;
  }
  out.push(text.slice(at, shown.end));
  if (shown.end < text.length) out.push(" …");
  return out;
}

/** useRaw returns whether texts are shown raw, which the browser remembers, and changes it. */
function useRaw() {
  return useLocalStorage({ key: "ragd.raw-texts", defaultValue: false, getInitialValueInEffect: false });
}

/** RawSwitch chooses whether the page's texts are shown raw. */
export function RawSwitch() {
  const [raw, setRaw] = useRaw();
  return <Switch size="xs" label="Raw text" checked={raw} onChange={(event) => setRaw(event.currentTarget.checked)} />;
}

/** WhenSeen shows its children when they come near to what the window shows; until then, the text that stands in for them. */
export function WhenSeen({ instead, children }: { instead?: string; children: ReactNode }) {
  const { ref, entry } = useIntersection({ rootMargin: "800px" });
  const [seen, setSeen] = useState(false);
  if (entry?.isIntersecting && !seen) setSeen(true);
  return <div ref={ref}>{seen ? children : instead === undefined ? <Skeleton h={60} /> : <div className={classes.plain}>{instead}</div>}</div>;
}
