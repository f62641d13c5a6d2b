import { Autocomplete, JsonInput, NumberInput, Select, Stack, TextInput } from "@mantine/core";
import { Panel } from "@/ui/Page";
import classes from "./Ask.module.css";
import { FilterBuilder } from "./FilterBuilder";
import { modes, type AskSettings } from "./settings";

const rerankers = ["lexical", "cross-encoder", "llm", "llm-passage", "llm-listwise"];

/** SettingsForm changes how a question is asked. */
export function SettingsForm({ name, settings, onChange }: { name: string; settings: AskSettings; onChange: (change: Partial<AskSettings>) => void }) {
  const graph = settings.mode === "graph";
  const number = (key: keyof AskSettings) => (value: number | string) => onChange({ [key]: value === "" ? 0 : Number(value) });
  return (
    <Panel title={name && `Settings ${name}`}>
      <div className={classes.fields}>
        <Select label="Search" data={modes} value={settings.mode} onChange={(mode) => onChange({ mode: mode ?? "" })} allowDeselect={false} />
        <NumberInput label="Results" min={1} max={1000} value={settings.topK} onChange={(value) => onChange({ topK: Math.max(1, Number(value) || 1) })} />
        <Select label="Reranker" data={rerankers} placeholder="None" clearable value={settings.rerank || null} onChange={(rerank) => onChange({ rerank: rerank ?? "" })} />
        {settings.rerank && settings.rerank !== "lexical" && <Autocomplete label="Model of the reranker" placeholder="cohere/rerank-v3.5" value={settings.model} onChange={(model) => onChange({ model })} />}
        {!graph && <NumberInput label="Diversity" description="0 to 1" inputWrapperOrder={["label", "input"]} min={0} max={1} step={0.1} value={settings.diversity} onChange={number("diversity")} />}
        {!graph && <NumberInput label="Neighbours" min={0} max={10} value={settings.neighbours} onChange={number("neighbours")} />}
        {!graph && <NumberInput label="Per document" placeholder="No limit" min={0} value={settings.maxPerDocument || ""} onChange={number("maxPerDocument")} />}
        <Select label="Same passage" data={[{ value: "", label: "Once" }, { value: "each", label: "Each time" }]} value={settings.repeats} onChange={(repeats) => onChange({ repeats: repeats ?? "" })} allowDeselect={false} />
        <TextInput label="Namespace" placeholder="default" value={settings.namespace} onChange={(event) => onChange({ namespace: event.currentTarget.value })} />
      </div>
      <Stack gap="xs">
        <FilterBuilder indexName={settings.index} filter={settings.filter} onChange={(filter) => onChange({ filter })} />
        <details open={settings.context !== "" || undefined}>
          <summary><small>Request context</small></summary>
          <JsonInput aria-label="Request context" placeholder={'{"topK": 5}'} autosize minRows={1} value={settings.context} onChange={(context) => onChange({ context })} mt={6} />
        </details>
      </Stack>
    </Panel>
  );
}
