import { Alert, Autocomplete, Button, Group, JsonInput, Modal, NumberInput, SegmentedControl, Select, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { refresh } from "@/app/queries";
import { EvaluateService, type Evaluation, type QuestionSet } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";
import { useProfiles } from "@/screens/ask/ProfileSelect";
import { AgentFields } from "./AgentFields";
import { IndexSelect } from "./IndexSelect";
import { settingsLike, startRequest, type RunSettings } from "./runSettings";
import { runPath } from "./words";

interface Props {
  set: Pick<QuestionSet, "setName" | "indexName">;
  /** A run whose settings are taken over. */
  like?: Evaluation;
  onClose: () => void;
}

/** StartRun asks for the settings of a run, starts it and shows it. */
export function StartRun({ set, like, onClose }: Props) {
  const [settings, setSettings] = useState(() => settingsLike(like));
  const [mistake, setMistake] = useState("");
  const navigate = useNavigate();
  const start = useMutation(EvaluateService.method.startEvaluation, {
    onSuccess: (run) => {
      void refresh(EvaluateService);
      onClose();
      void navigate(runPath(run.evaluationId));
    },
  });
  const change = (part: Partial<RunSettings>) => setSettings({ ...settings, ...part });
  function submit(event: FormEvent) {
    event.preventDefault();
    setMistake("");
    try {
      start.mutate(startRequest(set.setName, settings));
    } catch (problem) {
      setMistake((problem as Error).message);
    }
  }
  return (
    <Modal opened onClose={onClose} size="lg" title={`Ask the questions of ${set.setName}`} closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <SegmentedControl aria-label="What is asked" value={settings.kind} onChange={(kind) => change({ kind: kind as RunSettings["kind"] })} data={[{ value: "query", label: "Search" }, { value: "graph", label: "Search and graph" }, { value: "agent", label: "Agent" }]} />
          <TextInput label="Label" description="A note for people, to tell runs apart." placeholder="hybrid with reranking" value={settings.label} onChange={(event) => change({ label: event.currentTarget.value })} data-autofocus dir="auto" />
          {settings.kind === "agent" ? <AgentFields settings={settings} onChange={change} /> : <QueryFields set={set} settings={settings} onChange={change} />}
          {mistake && <Alert color="red" role="alert" title="This does not work as written">{mistake}</Alert>}
          {start.isError && <ErrorView error={start.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={start.isPending}>Start</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function QueryFields({ set, settings, onChange }: { set: Props["set"]; settings: RunSettings; onChange: (part: Partial<RunSettings>) => void }) {
  const profiles = useProfiles([settings.indexName || set.indexName]);
  const number = (value: number | string) => (value === "" ? "" : Number(value));
  return (
    <>
      <Group grow align="flex-start">
        <IndexSelect label="Index" placeholder={set.indexName} value={settings.indexName} onChange={(indexName) => onChange({ indexName })} />
        <Select label="Search mode" placeholder="Standard" data={["vector", "keyword", "hybrid"]} value={settings.searchMode || null} onChange={(searchMode) => onChange({ searchMode: searchMode ?? "" })} clearable clearButtonProps={{ "aria-label": "Use the standard search mode" }} />
      </Group>
      <Group grow align="flex-start">
        <TextInput label="Numbers looked at (k)" placeholder="5, 10" value={settings.k} onChange={(event) => onChange({ k: event.currentTarget.value })} />
        <NumberInput label="Sources (top k)" placeholder="The largest k" min={1} max={1000} allowDecimal={false} value={settings.topK} onChange={(topK) => onChange({ topK: number(topK) })} />
      </Group>
      <Group grow align="flex-start">
        <Autocomplete label="Reranker" placeholder="None" data={["builtin/lexical"]} value={settings.reranker} onChange={(reranker) => onChange({ reranker })} />
        <Autocomplete label="Ranking profile" placeholder="Default" data={["none", ...profiles]} value={settings.profile} onChange={(profile) => onChange({ profile })} />
        <NumberInput label="Least score for precision" placeholder="None" step={0.05} value={settings.minScore} onChange={(minScore) => onChange({ minScore: number(minScore) })} />
      </Group>
      <JsonInput label="More settings" description="Other fields of the query, such as a filter." placeholder='{"filter": {"team": "legal"}}' autosize minRows={2} maxRows={10} value={settings.more} onChange={(more) => onChange({ more })} />
    </>
  );
}
