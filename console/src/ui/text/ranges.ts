/** Range is a range of a text, in UTF-16 code units, end exclusive. */
export interface Range {
  start: number;
  end: number;
}

/** ByteRange is a range of a text, in bytes of UTF-8, end exclusive. */
export interface ByteRange {
  startByte: number;
  endByte: number;
}

/** toRanges converts ranges in bytes, in any order, to ranges in UTF-16 code units. Those outside of the text are left out. */
export function toRanges(text: string, ranges: ByteRange[]): Range[] {
  if (ranges.length === 0) return [];
  const borders = [...new Set(ranges.flatMap((range) => [range.startByte, range.endByte]))].sort((a, b) => a - b);
  const at = new Map<number, number>();
  let byte = 0;
  let next = 0;
  for (let i = 0; i <= text.length && next < borders.length;) {
    while (next < borders.length && borders[next]! <= byte) at.set(borders[next++]!, i);
    const code = text.codePointAt(i) ?? 0;
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    i += code < 0x10000 ? 1 : 2;
  }
  return ranges.flatMap(({ startByte, endByte }) => {
    const start = at.get(startByte), end = at.get(endByte);
    return start === undefined || end === undefined || start >= end ? [] : [{ start, end }];
  });
}

/** short is the length up to which a text is shown as a whole, around how much is shown on each side of its best sentences. */
const short = 700, around = 160;

/** windowOf returns the part of a long text around its best sentences, cut at lines or words; undefined for a short text. */
export function windowOf(text: string, best: Range | undefined): Range | undefined {
  if (!best || text.length <= short) return undefined;
  let start = Math.max(0, best.start - around), end = Math.min(text.length, best.end + around);
  if (start > 0) {
    const before = text.slice(start, best.start);
    const line = before.indexOf("\n"), space = before.indexOf(" ");
    if (line >= 0) start += line + 1;
    else if (space >= 0) start += space + 1;
  }
  if (end < text.length) {
    const after = text.slice(best.end, end);
    const line = after.lastIndexOf("\n"), space = after.lastIndexOf(" ");
    if (line >= 0) end = best.end + line;
    else if (space >= 0) end = best.end + space;
  }
  return text.slice(0, start).trim() === "" && text.slice(end).trim() === "" ? undefined : { start, end };
}
