import { Badge, Button, Group, Modal, PasswordInput, Select, Skeleton, Stack, TagsInput, Text, TextInput } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { transport } from "@/app/transport";
import { EndpointService, type Endpoint } from "@/gen/ragd/v1/endpoint_pb";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { explain } from "@/ui/explain";
import { notifyDone } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";

const endpoints = createClient(EndpointService, transport);
const kinds = ["openai-compatible", "cohere", "voyage", "jina", "tei", "ollama", "gemini"];

/** Endpoints lists the model providers that the tenant can use, adds its own and tries them. */
export function Endpoints() {
  const list = useQuery(EndpointService.method.listEndpoints, { pageSize: 1000 });
  const [creating, setCreating] = useState(false);
  const [deleting, setDeleting] = useState("");
  const actions: Column<Endpoint> = {
    head: "",
    narrow: true,
    cell: ({ endpointName, operator }) => (
      <Group gap={4} wrap="nowrap">
        <Try endpointName={endpointName} />
        {!operator && <Button size="compact-xs" variant="light" color="red" aria-label={`Delete ${endpointName}`} onClick={() => setDeleting(endpointName)}>Delete</Button>}
      </Group>
    ),
  };
  return (
    <Panel title="Model endpoints" actions={<Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setCreating(true)}>Add an endpoint</Button>}>
      {list.isPending && <Skeleton h={60} />}
      {list.isError && <ErrorView error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && list.data.endpoints.length === 0 && <Empty title="No endpoints">Models that embed, rerank or answer come from endpoints: those of the operator, or your own with your own key.</Empty>}
      {list.isSuccess && list.data.endpoints.length > 0 && <Table label="Model endpoints" columns={[...columns, actions]} rows={list.data.endpoints} id={(endpoint) => endpoint.endpointName} />}
      <Modal opened={creating} onClose={() => setCreating(false)} title="Add an endpoint"><Form onDone={() => setCreating(false)} /></Modal>
      <Confirm opened={deleting !== ""} onClose={() => setDeleting("")} title={`Delete ${deleting}?`} action="Delete" onConfirm={async () => {
        await endpoints.deleteEndpoint({ endpointName: deleting });
        await refresh(EndpointService);
      }}>
        What uses its models fails from now on.
      </Confirm>
    </Panel>
  );
}

const columns: Column<Endpoint>[] = [
  { head: "Name", cell: (endpoint) => <Group gap={6}><b>{endpoint.endpointName}</b>{endpoint.operator && <Badge variant="light" color="gray" tt="none">of the operator</Badge>}</Group> },
  { head: "Kind", cell: (endpoint) => endpoint.kind, narrow: true },
  { head: "Address", cell: (endpoint) => <Text size="xs">{endpoint.baseUrl}</Text> },
  { head: "Models", cell: (endpoint) => <Text size="xs" lineClamp={3}>{endpoint.models.map((model) => model.model).join(", ")}</Text> },
];

/** Try asks an endpoint for its models. */
function Try({ endpointName }: { endpointName: string }) {
  const [result, setResult] = useState("");
  const [busy, setBusy] = useState(false);
  async function run() {
    setBusy(true);
    try {
      const answer = await endpoints.testEndpoint({ endpointName });
      setResult(`Answers in ${answer.tookMs} ms, ${answer.models.length} models`);
    } catch (error) {
      setResult(explain(error).message);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Group gap={6} wrap="nowrap">
      {result && <Text size="xs" maw={240} role="status">{result}</Text>}
      <Button size="compact-xs" variant="default" loading={busy} aria-label={`Try ${endpointName}`} onClick={() => void run()}>Try</Button>
    </Group>
  );
}

function Form({ onDone }: { onDone: () => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState("openai-compatible");
  const [baseUrl, setBaseUrl] = useState("");
  const [apiKey, setApiKey] = useState("");
  const [models, setModels] = useState<string[]>([]);
  const [error, setError] = useState<unknown>();
  async function submit(event: FormEvent) {
    event.preventDefault();
    setError(undefined);
    try {
      await endpoints.createEndpoint({ endpointName: name, kind, baseUrl, apiKey, models: models.map((model) => ({ model })) });
      await refresh(EndpointService);
      notifyDone(`${name} is added.`);
      onDone();
    } catch (problem) {
      setError(problem);
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} required data-autofocus />
        <Select label="Kind" data={kinds} value={kind} onChange={(value) => setKind(value ?? "")} allowDeselect={false} />
        <TextInput label="Address" placeholder="https://api.openai.com/v1" value={baseUrl} onChange={(event) => setBaseUrl(event.currentTarget.value)} />
        <PasswordInput label="API key" description="Stored encrypted, and never shown." autoComplete="off" value={apiKey} onChange={(event) => setApiKey(event.currentTarget.value)} />
        <TagsInput label="Models" description="Names of models that may be used; * stands for any characters." value={models} onChange={setModels} />
        {error !== undefined && <ErrorView error={error} />}
        <Group justify="flex-end"><Button type="submit">Add</Button></Group>
      </Stack>
    </form>
  );
}
