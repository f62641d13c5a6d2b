import { fromJson, toJson, type DescMessage, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
import { Button, Group, Stack } from "@mantine/core";
import { useState, type FormEvent, type ReactNode } from "react";
import { ErrorView } from "@/ui/ErrorView";
import { explain } from "@/ui/explain";
import { errorsOf, isObject, type Field } from "./fields";
import { FormOrJson } from "./FormOrJson";

interface Props<Desc extends DescMessage> {
  /** The message that the definition is: the request that creates it. */
  schema: Desc;
  fields: Field[];
  value: JsonObject;
  /** The label of the button, such as "Create". */
  action: string;
  /** Stores the definition. What it throws is shown, beside the fields that it names. */
  onSave: (definition: MessageShape<Desc>) => Promise<unknown>;
  /** Whether it exists, so that there is nothing to save until it is changed. */
  stored?: boolean;
  /** Shows what follows from a draft, below it. */
  preview?: (draft: JsonObject) => ReactNode;
}

/** Definition edits what a tenant defines, in a form or as JSON. Both are checked in the same way. */
export function Definition<Desc extends DescMessage>({ schema, fields, value, action, onSave, stored, preview }: Props<Desc>) {
  const [draft, setDraft] = useState<JsonObject>();
  const [edition, setEdition] = useState(0);
  const [valid, setValid] = useState(true);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  function discard() {
    setDraft(undefined);
    setError(undefined);
    setValid(true);
    setEdition(edition + 1);
  }
  async function save(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await onSave(read(schema, draft ?? value));
      if (stored) discard();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  const violations = error === undefined ? [] : explain(error).violations;
  return (
    <form onSubmit={(event) => void save(event)} noValidate>
      <Stack>
        <FormOrJson key={edition} label="Definition" fields={fields} value={draft ?? value} onChange={setDraft} errors={errorsOf(violations)} onValid={setValid} />
        {preview?.(draft ?? value)}
        {error !== undefined && <ErrorView error={error} />}
        <Group>
          <Button type="submit" loading={busy} disabled={!valid || (stored && !draft)}>{action}</Button>
          {stored && (draft || !valid) && <Button variant="default" onClick={discard}>Discard the changes</Button>}
        </Group>
      </Stack>
    </form>
  );
}

function read<Desc extends DescMessage>(schema: Desc, value: JsonObject): MessageShape<Desc> {
  try {
    return fromJson(schema, value);
  } catch (problem) {
    throw new Error((problem as Error).message.replace(/^cannot decode (message|field) [\w.]+(\.[\w]+)? from JSON: /, (_, what: string, name?: string) => (what === "field" && name ? `${name.slice(1)}: ` : "")));
  }
}

/** definitionOf returns the fields of a stored message that the request which creates it has, as JSON. */
export function definitionOf<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>, request: DescMessage): JsonObject {
  const json = toJson(schema, message);
  const names = new Set(request.fields.map((field) => field.jsonName));
  return isObject(json) ? Object.fromEntries(Object.entries(json).filter(([name]) => names.has(name))) : {};
}
