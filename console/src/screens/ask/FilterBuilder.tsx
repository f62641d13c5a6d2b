import { ActionIcon, Autocomplete, Button, Group, JsonInput, Select, Stack, Text } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import classes from "./Ask.module.css";
import { conditionsOf, filterOf, operators, type Condition } from "./filter";
import { useFields } from "./useFields";

/** FilterBuilder edits a filter as conditions, or as JSON where it says more than conditions can. */
export function FilterBuilder({ indexNames, filter, onChange }: { indexNames: string[]; filter: string; onChange: (filter: string) => void }) {
  const parsed = conditionsOf(filter);
  const [raw, setRaw] = useState(false);
  const [draft, setDraft] = useState<Condition[]>(); // while a condition has no field yet
  const fields = useFields(indexNames);
  const says = (name: string) => fields.find((field) => field.name === name)?.description || undefined;
  const conditions = draft && filterOf(draft) === filter ? draft : (parsed ?? []);
  const asText = raw || parsed === undefined;

  const set = (next: Condition[]) => {
    setDraft(next);
    onChange(filterOf(next));
  };
  const change = (at: number, part: Partial<Condition>) => set(conditions.map((condition, i) => (i === at ? { ...condition, ...part } : condition)));
  return (
    <Stack gap="xs" role="group" aria-label="Filter">
      <Group justify="space-between">
        <Text size="sm" fw={500}>Filter</Text>
        <Group gap={4}>
          {!asText && <Button size="compact-xs" variant="default" leftSection={<IconPlus size={12} />} onClick={() => set([...conditions, { field: "", operator: "$eq", value: "" }])}>Add a condition</Button>}
          <Button size="compact-xs" variant="subtle" color="gray" disabled={parsed === undefined} onClick={() => setRaw(!raw)}>{asText ? "As conditions" : "As JSON"}</Button>
        </Group>
      </Group>
      {asText && <JsonInput aria-label="Filter as JSON" placeholder={'{"team": "legal"}'} autosize minRows={2} value={filter} onChange={onChange} error={filter.trim() !== "" && parsed === undefined && !isJson(filter) ? "This is not JSON." : undefined} />}
      {!asText && conditions.map((condition, i) => (
        <div key={i} className={classes.condition}>
          <Autocomplete aria-label={`Field ${i + 1}`} placeholder="Field" title={says(condition.field)} data={["$uri", ...fields.map((field) => field.name)]} value={condition.field} onChange={(field) => change(i, { field })} />
          <Select aria-label={`Operator ${i + 1}`} data={operators} value={condition.operator} onChange={(operator) => change(i, { operator: operator ?? "$eq" })} allowDeselect={false} />
          <Autocomplete aria-label={`Value ${i + 1}`} placeholder="Value" data={fields.find((field) => field.name === condition.field)?.values ?? []} value={condition.value} onChange={(value) => change(i, { value })} limit={20} />
          <ActionIcon variant="subtle" color="gray" aria-label={`Remove condition ${i + 1}`} onClick={() => set(conditions.filter((_, at) => at !== i))}><IconTrash size={16} /></ActionIcon>
        </div>
      ))}
    </Stack>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
