import type { ReactNode } from "react";

/** Highlighted shows a text with ranges of it marked. The ranges are in bytes of UTF-8, in order. */
export function Highlighted({ text, ranges }: { text: string; ranges: { startByte: number; endByte: number }[] }) {
  if (ranges.length === 0) return text;
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const out: ReactNode[] = [];
  let shown = 0;
  for (const { startByte, endByte } of ranges) {
    if (startByte < shown || endByte > bytes.length) continue;
    out.push(decoder.decode(bytes.subarray(shown, startByte)), <mark key={startByte}>{decoder.decode(bytes.subarray(startByte, endByte))}</mark>);
    shown = endByte;
  }
  out.push(decoder.decode(bytes.subarray(shown)));
  return out;
}
