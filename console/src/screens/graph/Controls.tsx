import { Button, Checkbox, Collapse, Group, NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAdjustments, IconAffiliate } from "@tabler/icons-react";
import { useState, type FormEvent } from "react";
import { edgeTypes, filterError, shownCounts, type Settings } from "./settings";
import classes from "./Graph.module.css";

interface Props {
  indexes: string[];
  settings: Settings;
  busy: boolean;
  onWalk: (settings: Settings) => void;
}

/** Controls asks for the question, and how it is walked. */
export function Controls({ indexes, settings, busy, onWalk }: Props) {
  const [draft, setDraft] = useState(settings);
  const changed = draft.edges.length + draft.restart.length + draft.steps.length + draft.threshold.length + draft.mode.length + draft.filter.length + draft.namespace.length > 0;
  const [open, more] = useDisclosure(changed);
  const set = (change: Partial<Settings>) => setDraft((old) => ({ ...old, ...change }));
  const number = (name: "topK" | "restart" | "steps" | "threshold") => ({ value: draft[name], onChange: (value: string | number) => set({ [name]: String(value) }) });
  const problem = filterError(draft.filter);
  function submit(event: FormEvent) {
    event.preventDefault();
    if (problem === "") onWalk({ ...draft, question: draft.question.trim() });
  }
  return (
    <form onSubmit={submit} className={classes.controls}>
      <div className={classes.asked}>
        <Select label="Index" data={indexes} value={draft.index} onChange={(index) => set({ index: index ?? "" })} allowDeselect={false} searchable />
        <TextInput label="Question" placeholder="Who or what is connected with what, and how?" value={draft.question} onChange={(event) => set({ question: event.currentTarget.value })} required dir="auto" />
        <Group gap="xs" wrap="nowrap">
          <Button type="submit" leftSection={<IconAffiliate size={16} />} loading={busy}>Walk</Button>
          <Button variant="default" leftSection={<IconAdjustments size={16} />} onClick={more.toggle} aria-expanded={open}>Settings</Button>
        </Group>
      </div>
      <Collapse expanded={open}>
        <div className={classes.settings}>
          <NumberInput label="Sources" min={1} max={1000} {...number("topK")} />
          <Select label="Chunks to draw" data={shownCounts} value={draft.nodes} onChange={(nodes) => set({ nodes: nodes ?? "100" })} allowDeselect={false} />
          <Select label="Starts are found by" placeholder="Default" clearable data={["hybrid", "vector", "keyword"]} value={draft.mode || null} onChange={(mode) => set({ mode: mode ?? "" })} />
          <NumberInput label="Return to the start" placeholder="0.5" min={0.01} max={0.99} step={0.05} {...number("restart")} />
          <NumberInput label="Length of a walk" placeholder="Unlimited" min={1} max={10000} {...number("steps")} />
          <NumberInput label="Least similarity" placeholder="0.7" min={-1} max={1} step={0.05} {...number("threshold")} />
          <TextInput label="Namespace" placeholder="default" value={draft.namespace} onChange={(event) => set({ namespace: event.currentTarget.value })} />
          <Textarea label="Filter" placeholder={'{"kind": "guide"}'} autosize minRows={1} maxRows={6} value={draft.filter} error={problem} onChange={(event) => set({ filter: event.currentTarget.value })} />
        </div>
        <Checkbox.Group mt="sm" label="Links to follow" value={draft.edges.length > 0 ? draft.edges : edgeTypes.map((type) => type.value)} onChange={(edges) => set({ edges: edges.length === edgeTypes.length ? [] : edges })}>
          <Group gap="md" mt={4}>
            {edgeTypes.map((type) => <Checkbox key={type.value} value={type.value} label={`${type.label}: ${type.about}`} />)}
          </Group>
        </Checkbox.Group>
      </Collapse>
    </form>
  );
}
