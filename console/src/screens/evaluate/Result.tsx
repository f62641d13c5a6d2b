import { Badge, Text, UnstyledButton } from "@mantine/core";
import { IconChevronRight } from "@tabler/icons-react";
import { useState } from "react";
import type { QuestionHit, QuestionResult } from "@/gen/ragd/v1/evaluate_pb";
import { millis } from "@/ui/format";
import { Table, type Column } from "@/ui/Table";
import { Answer } from "./Answer";
import { grade, type Grade } from "./grades";
import { value } from "./words";
import classes from "./Evaluate.module.css";

const looks: Record<Grade, [color: string, label: string]> = { failed: ["red", "failed"], partial: ["yellow", "in part"], good: ["green", "good"], none: ["gray", "unanswerable"] };

/** Result shows what a question of a run got: a line, and when it is opened its sources, measures and answer. */
export function Result({ result }: { result: QuestionResult }) {
  const [open, setOpen] = useState(false);
  const [color, label] = looks[grade(result)];
  return (
    <li className={classes.result}>
      <UnstyledButton className={classes.line} onClick={() => setOpen(!open)} aria-expanded={open}>
        <IconChevronRight size={14} className={classes.chevron} data-open={open || undefined} aria-hidden />
        <Badge variant="light" radius="sm" tt="none" color={color} className={classes.grade}>{label}</Badge>
        <span className={classes.text} dir="auto">{result.text}</span>
        <Text span size="xs" c="dimmed" className={classes.facts}>
          {outcome(result)}{millis(result.latencyMs)}
        </Text>
      </UnstyledButton>
      {open && <Details result={result} />}
    </li>
  );
}

/** outcome says where the first relevant source was. */
function outcome(result: QuestionResult): string {
  if (result.answer) return result.unanswerable ? "unanswerable, " : "";
  if (result.unanswerable) return "";
  return result.firstRank > 0 ? `first relevant at ${result.firstRank}, ` : "nothing relevant found, ";
}

const hits: Column<QuestionHit>[] = [
  { head: "Relevant", cell: (hit) => (hit.relevant ? <Badge variant="light" radius="sm" tt="none" miw="max-content" color="green">relevant</Badge> : ""), narrow: true },
  { head: "Source", cell: (hit) => <span dir="auto">{hit.uri}</span> },
  { head: "Bytes", cell: (hit) => `${hit.startByte} – ${hit.endByte}`, narrow: true, numeric: true },
  { head: "Score", cell: (hit) => hit.score.toFixed(3), numeric: true, narrow: true },
];

function Details({ result }: { result: QuestionResult }) {
  return (
    <div className={classes.details}>
      <Text size="sm">{result.questionId}{result.measures.map((m) => `, ${m.name} ${value(m.name, m.value)}`).join("")}</Text>
      {result.answer && <Answer answer={result.answer} />}
      {result.missing.length > 0 && (
        <div>
          <Text size="sm" fw={600}>{result.answer ? "Relevant, but not cited" : "Relevant, but not found"}</Text>
          <ul className={classes.missing}>{result.missing.map((text) => <li key={text} dir="auto">{text}</li>)}</ul>
        </div>
      )}
      {result.hits.length > 0 && <Table label={result.answer ? "Cited passages" : "First sources"} columns={hits} rows={result.hits} id={(hit) => `${hit.uri}#${hit.startByte}-${hit.endByte}`} />}
    </div>
  );
}
