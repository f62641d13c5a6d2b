import type { Measure } from "@/gen/ragd/v1/evaluate_pb";
import { Table, type Column } from "@/ui/Table";
import { isFraction, value } from "./words";
import classes from "./Evaluate.module.css";

const percent = (n: number) => `${(100 * Math.min(1, Math.max(0, n))).toFixed(2)}%`;

/** Bar draws a fraction, and its interval as a line over it. */
function Bar({ measure }: { measure: Measure }) {
  if (!isFraction(measure.name)) return null;
  return (
    <span className={classes.track} aria-hidden>
      <span className={classes.fill} style={{ width: percent(measure.value) }} />
      <span className={classes.interval} style={{ insetInlineStart: percent(measure.low), width: percent(measure.high - measure.low) }} />
    </span>
  );
}

const columns: Column<Measure>[] = [
  { head: "Measure", cell: (measure) => <b>{measure.name}</b>, narrow: true },
  { head: "Value", cell: (measure) => value(measure.name, measure.value), numeric: true, narrow: true },
  { head: "95% interval", cell: (measure) => `${value(measure.name, measure.low)} – ${value(measure.name, measure.high)}`, numeric: true, narrow: true },
  { head: <span className={classes.scale} aria-hidden><span>0</span><span>1</span></span>, cell: (measure) => <Bar measure={measure} /> },
];

/** Measures shows the measures of a run with their confidence intervals. */
export function Measures({ measures }: { measures: Measure[] }) {
  return <Table label="Measures" columns={columns} rows={measures} id={(measure) => measure.name} />;
}
