import type { JsonValue } from "@bufbuild/protobuf";
import { Input, Stack, Switch, TagsInput } from "@mantine/core";
import { isObject, type Field } from "./fields";

interface Props {
  field: Field;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  error?: string;
}

/** AllowedInput edits a list of names that may be absent, which allows all names. */
export function AllowedInput({ field, value, onChange, error }: Props) {
  const chosen = isObject(value);
  const names = chosen && Array.isArray(value.names) ? (value.names as string[]) : [];
  return (
    <Stack gap={6}>
      <Switch label={`${field.label}: all, also those that are created later`} checked={!chosen} onChange={(event) => onChange(event.currentTarget.checked ? undefined : { names: [] })} />
      {chosen && (
        <TagsInput
          aria-label={field.label} description={field.about ?? "Type a name and press Enter. Without names, none is shown."} placeholder={names.length === 0 ? "None" : ""}
          data={[...new Set(field.choices)]} value={names} onChange={(next) => onChange({ names: next })} acceptValueOnBlur
        />
      )}
      {error && <Input.Error>{error}</Input.Error>}
    </Stack>
  );
}
