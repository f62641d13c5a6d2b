import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";

const units = ["B", "kB", "MB", "GB", "TB"];

/** bytes writes a number of bytes, such as 1.5 MB; a kB is 1,000 bytes. */
export function bytes(n: number | bigint): string {
  let value = Number(n);
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${value.toFixed(value < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

const plain = new Intl.NumberFormat("en");

/** count writes a number with separators, such as 10,000. */
export function count(n: number | bigint): string {
  return plain.format(n);
}

/** millis writes a duration in milliseconds, such as 12 ms or 3.4 s. */
export function millis(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });
const steps: [Intl.RelativeTimeFormatUnit, number][] = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** ago writes a time as seen from now, such as "3 minutes ago". */
export function ago(time: Timestamp | Date, now = Date.now()): string {
  const date = time instanceof Date ? time : timestampDate(time);
  const seconds = (date.getTime() - now) / 1000;
  const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return relative.format(Math.round(seconds / size), unit);
}

/** plural writes a number and its noun, such as "1 document" or "3 documents". */
export function plural(n: number | bigint, noun: string, many = `${noun}s`): string {
  return `${count(n)} ${Number(n) === 1 ? noun : many}`;
}
