import { Text } from "@mantine/core";
import type { EvaluationComparison, QuestionChange } from "@/gen/ragd/v1/evaluate_pb";
import { Table, type Column } from "@/ui/Table";
import { isLowerBetter, signed, value } from "./words";

const rank = (n: number) => (n > 0 ? n : "–");

/** Changes lists the questions whose measure differs between two runs, those that changed most first. */
export function Changes({ comparison: { measure, changes } }: { comparison: EvaluationComparison }) {
  if (changes.length === 0) return <Text size="sm" c="dimmed">No question has another {measure}.</Text>;
  const ranked = changes.some((change) => change.baselineFirstRank > 0 || change.candidateFirstRank > 0);
  const color = (change: QuestionChange) => ((change.candidate > change.baseline) === isLowerBetter(measure) ? "red" : "green");
  const columns: Column<QuestionChange>[] = [
    { head: "Question", cell: (change) => <><span dir="auto">{change.text}</span><Text size="xs" c="dimmed">{change.questionId}</Text></> },
    { head: "Baseline", cell: (change) => value(measure, change.baseline), numeric: true, narrow: true },
    { head: "Candidate", cell: (change) => value(measure, change.candidate), numeric: true, narrow: true },
    { head: "Difference", cell: (change) => <Text span size="sm" c={color(change)}>{signed(measure, change.candidate - change.baseline)}</Text>, numeric: true, narrow: true },
    ...(ranked ? [{ head: "Rank of the first relevant", cell: (change: QuestionChange) => <>{rank(change.baselineFirstRank)} → {rank(change.candidateFirstRank)}</>, numeric: true, narrow: true }] : []),
  ];
  return <Table label="Questions that changed most" columns={columns} rows={changes} id={(change) => change.questionId} />;
}
