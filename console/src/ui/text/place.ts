/** place says in words where a passage stands in its file, such as "page 3" or "slide 2, Fees › Berths". */
export function place(position: unknown): string {
  if (typeof position !== "object" || position === null) return "";
  const { page, pageEnd, pageLabel, slide, slideEnd, line, lineEnd, cell, cellEnd, sheet, range, time, timeEnd, section, file, contents } = position as Record<string, unknown>;
  const parts = [
    typeof file === "string" && file,
    typeof pageLabel === "string" && page !== undefined ? `page ${pageLabel} (${span("page", page, pageEnd)})` : span("page", page, pageEnd),
    span("slide", slide, slideEnd),
    typeof sheet === "string" && `sheet ${sheet}${typeof range === "string" ? `, cells ${range.replace(":", " to ")}` : ""}`,
    span("line", line, lineEnd),
    span("cell", cell, cellEnd),
    typeof time === "number" && `from ${clock(time)}${typeof timeEnd === "number" ? ` to ${clock(timeEnd)}` : ""}`,
    contents === true && "table of contents",
    typeof section === "string" && section.replaceAll(" > ", " › "),
  ];
  return parts.filter(Boolean).join(", ");
}

function span(noun: string, first: unknown, last: unknown): string {
  if (typeof first !== "number") return "";
  return typeof last === "number" && last !== first ? `${noun}s ${first} to ${last}` : `${noun} ${first}`;
}

/** clock writes seconds as minutes and seconds, with hours if there are any. */
function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const hours = Math.floor(whole / 3600);
  const tail = `${Math.floor((whole % 3600) / 60)}:${String(whole % 60).padStart(2, "0")}`;
  return hours > 0 ? `${hours}:${tail.padStart(5, "0")}` : tail;
}
