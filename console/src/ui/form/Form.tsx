import type { JsonObject } from "@bufbuild/protobuf";
import { Button, Stack } from "@mantine/core";
import { useState } from "react";
import { get, type Errors, type Field } from "./fields";
import { Input } from "./Input";

interface Props {
  fields: Field[];
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  /** What is wrong with which field. */
  errors?: Errors;
}

/** Form edits a JSON object with an input for each field. What no field shows stays as it is. */
export function Form({ fields, value, onChange, errors = {} }: Props) {
  const [all, setAll] = useState(false);
  const present = fields.filter((field) => !field.when || field.when(value));
  const visible = present.filter((field) => all || !field.minor || get(value, field.path) !== undefined || field.path in errors);
  return (
    <Stack gap="md">
      {visible.map((field) => <Input key={field.path} field={field} value={value} onChange={onChange} errors={errors} />)}
      {visible.length < present.length && (
        <div><Button variant="subtle" size="xs" onClick={() => setAll(true)}>Show {present.length - visible.length} more</Button></div>
      )}
    </Stack>
  );
}
