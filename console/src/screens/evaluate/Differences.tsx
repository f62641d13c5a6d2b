import { Text } from "@mantine/core";
import type { MeasureDifference } from "@/gen/ragd/v1/evaluate_pb";
import { Table, type Column } from "@/ui/Table";
import { isFraction, isLowerBetter, signed, value } from "./words";
import classes from "./Evaluate.module.css";

/** verdict says whether a difference is an improvement that is more than chance. */
function verdict({ name, low, high }: MeasureDifference): "better" | "worse" | "open" {
  if (low <= 0 && high >= 0) return "open";
  return (low > 0) === isLowerBetter(name) ? "worse" : "better";
}

const words = { better: ["green", "better"], worse: ["red", "worse"], open: ["dimmed", "not certain"] } as const;

/** Span draws the interval of a difference around 0; reach is the end of its scale. */
function Span({ difference: d, reach }: { difference: MeasureDifference; reach: number }) {
  if (!isFraction(d.name) || reach === 0) return null;
  const at = (n: number) => `${(50 + (50 * n) / reach).toFixed(2)}%`;
  return (
    <span className={classes.span} aria-hidden>
      <span className={classes.zero} />
      <span className={classes.reach} data-verdict={verdict(d)} style={{ insetInlineStart: at(d.low), width: `${((50 * (d.high - d.low)) / reach).toFixed(2)}%` }} />
      <span className={classes.dot} data-verdict={verdict(d)} style={{ insetInlineStart: at(d.difference) }} />
    </span>
  );
}

/** Differences shows the differences of the measures of two runs, with their intervals and tests. */
export function Differences({ differences }: { differences: MeasureDifference[] }) {
  const reach = Math.max(0, ...differences.filter((d) => isFraction(d.name)).flatMap((d) => [Math.abs(d.low), Math.abs(d.high)]));
  const columns: Column<MeasureDifference>[] = [
    { head: "Measure", cell: (d) => <b>{d.name}</b>, narrow: true },
    { head: "Baseline", cell: (d) => value(d.name, d.baseline), numeric: true, narrow: true },
    { head: "Candidate", cell: (d) => value(d.name, d.candidate), numeric: true, narrow: true },
    { head: "Difference", cell: (d) => signed(d.name, d.difference), numeric: true, narrow: true },
    { head: <span className={classes.middle}>95% interval</span>, cell: (d) => <><Span difference={d} reach={reach} /><span className={classes.middle}>{signed(d.name, d.low)} to {signed(d.name, d.high)}</span></> },
    { head: "Candidate is", cell: (d) => <Text span size="sm" c={words[verdict(d)][0]}>{words[verdict(d)][1]}</Text>, narrow: true },
    { head: "P", cell: (d) => d.pValue.toFixed(3), numeric: true, narrow: true },
    { head: "Higher / lower / same", cell: (d) => d.signTest && <>{d.signTest.wins} / {d.signTest.losses} / {d.signTest.ties}<span className={classes.under}>sign test P {d.signTest.pValue.toFixed(3)}</span></>, numeric: true, narrow: true },
  ];
  return <Table label="Differences of the measures" columns={columns} rows={differences} id={(d) => d.name} />;
}
