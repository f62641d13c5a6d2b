import { Autocomplete, Button, Collapse, JsonInput, NumberInput, Select, Stack, TextInput } from "@mantine/core";
import { IconAdjustmentsHorizontal, IconChevronDown } from "@tabler/icons-react";
import { useId, useState } from "react";
import classes from "./Ask.module.css";
import { FilterBuilder } from "./FilterBuilder";
import { ProfileSelect } from "./ProfileSelect";
import { inWords, modes, type AskSettings } from "./settings";

const rerankers = ["lexical", "cross-encoder", "llm", "llm-passage", "llm-listwise"];

/** SettingsForm says in one line how a question is asked, and changes it when it is opened. */
export function SettingsForm({ name, settings, indexNames, onChange }: Props) {
  const [opened, setOpened] = useState(false);
  const id = useId();
  return (
    <section aria-label={name ? `Settings ${name}` : "Settings"}>
      <Button
        classNames={{ root: classes.settings, label: classes.label }} variant="subtle" color="gray" size="compact-sm" aria-expanded={opened} aria-controls={opened ? id : undefined} aria-label={`Settings${name && ` ${name}`}: ${inWords(settings)}`}
        leftSection={<IconAdjustmentsHorizontal size={15} />} rightSection={<IconChevronDown size={14} className={classes.chevron} data-open={opened || undefined} />} onClick={() => setOpened(!opened)}
      >
        <span className={classes.words} dir="auto">{name && <b>{name}: </b>}{inWords(settings)}</span>
      </Button>
      <Collapse expanded={opened}>{opened && <div id={id} className={classes.opened}><Fields name={name} settings={settings} indexNames={indexNames} onChange={onChange} /></div>}</Collapse>
    </section>
  );
}

interface Props {
  name: string;
  settings: AskSettings;
  /** The names of the indexes that are asked. */
  indexNames: string[];
  onChange: (change: Partial<AskSettings>) => void;
}

function Fields({ settings, indexNames, onChange }: Props) {
  const graph = settings.mode === "graph";
  const number = (key: keyof AskSettings) => (value: number | string) => onChange({ [key]: value === "" ? 0 : Number(value) });
  return (
    <>
      <div className={classes.fields}>
        <Select label="Search" data={modes} value={settings.mode} onChange={(mode) => onChange({ mode: mode ?? "" })} allowDeselect={false} />
        <NumberInput label="Results" min={1} max={1000} value={settings.topK} onChange={(value) => onChange({ topK: Math.max(1, Number(value) || 1) })} />
        <Select label="Reranker" data={rerankers} placeholder="None" clearable value={settings.rerank || null} onChange={(rerank) => onChange({ rerank: rerank ?? "" })} />
        {settings.rerank && settings.rerank !== "lexical" && <Autocomplete label="Model of the reranker" placeholder="cohere/rerank-v3.5" value={settings.model} onChange={(model) => onChange({ model })} />}
        <ProfileSelect indexNames={indexNames} value={settings.profile} onChange={(profile) => onChange({ profile })} />
        {!graph && <NumberInput label="Diversity" description="0 to 1" inputWrapperOrder={["label", "input"]} min={0} max={1} step={0.1} value={settings.diversity} onChange={number("diversity")} />}
        {!graph && <NumberInput label="Neighbours" min={0} max={10} value={settings.neighbours} onChange={number("neighbours")} />}
        {!graph && <NumberInput label="Per document" placeholder="No limit" min={0} value={settings.maxPerDocument || ""} onChange={number("maxPerDocument")} />}
        {!graph && <TextInput label="Newer first by" placeholder="A field with dates" value={settings.newer} onChange={(event) => onChange({ newer: event.currentTarget.value })} />}
        {!graph && settings.newer && <TextInput label="Half-life" placeholder="30d" value={settings.halfLife} onChange={(event) => onChange({ halfLife: event.currentTarget.value })} />}
        <Select label="Same passage" data={[{ value: "", label: "Once" }, { value: "each", label: "Each time" }]} value={settings.repeats} onChange={(repeats) => onChange({ repeats: repeats ?? "" })} allowDeselect={false} />
        <TextInput label="Namespace" placeholder="default" value={settings.namespace} onChange={(event) => onChange({ namespace: event.currentTarget.value })} />
      </div>
      <Stack gap="xs">
        <FilterBuilder indexNames={indexNames} filter={settings.filter} onChange={(filter) => onChange({ filter })} />
        <details open={settings.context !== "" || undefined}>
          <summary><small>Request context</small></summary>
          <JsonInput aria-label="Request context" placeholder={'{"topK": 5}'} autosize minRows={1} value={settings.context} onChange={(context) => onChange({ context })} mt={6} />
        </details>
      </Stack>
    </>
  );
}
