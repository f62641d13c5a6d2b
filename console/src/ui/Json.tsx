import { Code } from "./Code";

/** Json shows a value as JSON, which can be copied. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const text = JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? Number(v) : v), 2);
  return (
    <div>
      <small>{label}</small>
      <Code text={text} label={`Copy ${label.toLowerCase()}`} />
    </div>
  );
}
