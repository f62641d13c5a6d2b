import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ActionIcon, Button, Fieldset, Group, Input as Label, Stack } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconTrash } from "@tabler/icons-react";
import { errorAt, isObject, type Errors, type Field } from "./fields";
import { Form } from "./Form";

interface Props {
  field: Field;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  errors: Errors;
}

/** ListInput edits a list of objects: adds, moves and removes them. */
export function ListInput({ field, value, onChange, errors }: Props) {
  const items = Array.isArray(value) ? value.filter(isObject) : [];
  const error = errorAt(Object.fromEntries(Object.entries(errors).filter(([path]) => !/^\d/.test(path.slice(field.path.length + 1)))), field.path);
  const put = (next: JsonObject[]) => onChange(next.length > 0 ? next : undefined);
  const replace = (i: number, item: JsonObject) => put(items.map((old, j) => (i === j ? item : old)));
  const swap = (i: number, j: number) => put(items.map((item, k) => (k === i ? items[j]! : k === j ? items[i]! : item)));
  return (
    <Stack gap="xs">
      <div>
        <Label.Label required={field.required} component="div">{field.label}</Label.Label>
        {field.about && <Label.Description>{field.about}</Label.Description>}
        {error && <Label.Error>{error}</Label.Error>}
      </div>
      {items.map((item, i) => (
        <Fieldset key={i} legend={`${i + 1}`} aria-label={`${field.label} ${i + 1}`}>
          <Form fields={field.items ?? []} value={item} onChange={(next) => replace(i, next)} errors={inside(errors, `${field.path}.${i}.`)} />
          <Group gap={4} justify="flex-end" mt="xs">
            <ActionIcon variant="subtle" color="gray" disabled={i === 0} onClick={() => swap(i, i - 1)} aria-label={`Move ${i + 1} up`}><IconArrowUp size={16} /></ActionIcon>
            <ActionIcon variant="subtle" color="gray" disabled={i === items.length - 1} onClick={() => swap(i, i + 1)} aria-label={`Move ${i + 1} down`}><IconArrowDown size={16} /></ActionIcon>
            <ActionIcon variant="subtle" color="red" onClick={() => put(items.filter((_, j) => j !== i))} aria-label={`Remove ${i + 1}`}><IconTrash size={16} /></ActionIcon>
          </Group>
        </Fieldset>
      ))}
      <Group gap="xs">
        {(field.adds ?? [{ label: "Add", item: {} }]).map(({ label, item }) => <Button key={label} size="xs" variant="default" onClick={() => put([...items, item])}>{label}</Button>)}
      </Group>
    </Stack>
  );
}

function inside(errors: Errors, prefix: string): Errors {
  return Object.fromEntries(Object.entries(errors).filter(([path]) => path.startsWith(prefix)).map(([path, text]) => [path.slice(prefix.length), text]));
}
