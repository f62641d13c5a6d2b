import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { ago } from "./format";

/** Time shows a time as seen from now; its tip is the exact time. */
export function Time({ value }: { value?: Timestamp }) {
  if (!value) return null;
  const date = timestampDate(value);
  return <time dateTime={date.toISOString()} title={date.toLocaleString()}>{ago(date)}</time>;
}
