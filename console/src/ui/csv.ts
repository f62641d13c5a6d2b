import { save } from "./save";

/** toCSV writes rows as comma-separated values. No spreadsheet takes a text for a formula. */
export function toCSV(rows: (string | number)[][]): string {
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** saveCSV lets the browser save rows as a file. */
export function saveCSV(name: string, rows: (string | number)[][]) {
  save(name, [toCSV(rows)], "text/csv");
}
