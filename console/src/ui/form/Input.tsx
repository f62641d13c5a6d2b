import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Autocomplete, NumberInput, Select, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import { AllowedInput } from "./AllowedInput";
import { errorAt, get, set, type Errors, type Field } from "./fields";
import { ListInput } from "./ListInput";
import { readJson, readLines, TextOf, writeJson, writeLines } from "./TextOf";

interface Props {
  field: Field;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  errors: Errors;
}

/** Input edits the value of a field. */
export function Input({ field, value, onChange, errors }: Props) {
  const current = get(value, field.path);
  const put = (next: JsonValue | undefined) => onChange(set(value, field.path, next));
  const error = errorAt(errors, field.path);
  const text = typeof current === "string" ? current : current === undefined ? "" : JSON.stringify(current);
  const common = { label: field.label, description: field.about, error, required: field.required, disabled: field.fixed, placeholder: field.placeholder };
  const putText = (next: string) => put(next === "" ? undefined : next);
  switch (field.kind) {
    case "text":
      if (field.choices) return <Autocomplete {...common} data={[...new Set(field.choices)]} value={text} onChange={putText} dir="auto" />;
      return <TextInput {...common} value={text} onChange={(event) => putText(event.currentTarget.value)} dir="auto" />;
    case "long":
      return <Textarea {...common} autosize minRows={1} maxRows={16} value={text} onChange={(event) => putText(event.currentTarget.value)} dir="auto" />;
    case "number":
      return <NumberInput {...common} min={field.min} max={field.max} clampBehavior="none" allowDecimal={!field.integer} value={typeof current === "number" ? current : ""} onChange={(next) => put(next === "" ? undefined : Number(next))} />;
    case "switch":
      return <Switch label={field.label} description={field.about} error={error} disabled={field.fixed} checked={typeof current === "boolean" ? current : (field.standard ?? false)} onChange={(event) => put(event.currentTarget.checked)} />;
    case "yesno":
      return <Select {...common} placeholder={field.placeholder ?? "not given"} data={["true", "false"]} value={typeof current === "boolean" ? String(current) : null} onChange={(next) => put(next === null ? undefined : next === "true")} clearable />;
    case "choice":
      return <Select {...common} data={field.choices ?? []} value={text || null} onChange={(next) => put(next ?? undefined)} clearable={!field.required} searchable={(field.choices?.length ?? 0) > 8} />;
    case "names":
      return <TagsInput {...common} data={[...new Set(field.choices)]} value={names(current)} onChange={(next) => put(next.length > 0 ? next : undefined)} acceptValueOnBlur />;
    case "lines":
      return <TextOf {...common} value={current} onChange={put} read={readLines} write={writeLines} />;
    case "json":
      return <TextOf {...common} value={current} onChange={put} read={readJson} write={writeJson} />;
    case "allowed":
      return <AllowedInput field={field} value={current} onChange={put} error={error} />;
    case "list":
      return <ListInput field={field} value={current} onChange={put} errors={errors} />;
  }
}

function names(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
