import { Button, Group, JsonInput, NumberInput, Select, Stack, Switch, TagsInput, Text, TextInput } from "@mantine/core";
import { clone, create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { transport } from "@/app/transport";
import { ChunkingSchema } from "@/gen/ragd/v1/chunk_pb";
import { IndexService, UpdateIndexRequestSchema, type Index } from "@/gen/ragd/v1/index_pb";
import { Confirm } from "@/ui/Confirm";
import { ErrorView } from "@/ui/ErrorView";
import { notifyDone } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { useRemoval } from "@/ui/useRemoval";

const indexes = createClient(IndexService, transport);
const strategies = ["recursive", "character", "token", "markdown", "semantic-markdown", "html", "json", "latex", "sentence"];

/** Settings changes an index, empties it or deletes it. */
export function Settings({ index }: { index: Index }) {
  return (
    <Stack>
      <Chunking index={index} />
      <Model index={index} />
      <Others index={index} />
      <Danger index={index} />
    </Stack>
  );
}

/** useUpdate returns a function that sends changes of an index, its error, and whether it is at work. */
function useUpdate(index: Index) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  async function update(change: Omit<MessageInitShape<typeof UpdateIndexRequestSchema>, "$typeName">, done: string) {
    setBusy(true);
    setError(undefined);
    try {
      await indexes.updateIndex({ ...change, indexName: index.indexName } as MessageInitShape<typeof UpdateIndexRequestSchema>);
      notifyDone(done);
      await client.invalidateQueries();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  return { update, busy, error };
}

function Chunking({ index }: { index: Index }) {
  const { update, busy, error } = useUpdate(index);
  const now = index.chunking;
  const [strategy, setStrategy] = useState(now?.strategy ?? "");
  const [size, setSize] = useState<number | undefined>(now?.maxSize);
  const [overlap, setOverlap] = useState<number | undefined>(now?.overlap);
  const save = () => {
    const chunking = now ? clone(ChunkingSchema, now) : create(ChunkingSchema);
    Object.assign(chunking, { strategy, maxSize: size, overlap });
    void update({ chunking }, "Saved. Later uploads are split so; documents that are stored keep their chunks.");
  };
  return (
    <Panel title="Chunking">
      <Group align="flex-end">
        <Select label="Strategy" placeholder="By content type" clearable data={strategies} value={strategy || null} onChange={(value) => setStrategy(value ?? "")} />
        <NumberInput label="Longest chunk" placeholder="800" min={1} max={1_000_000} value={size ?? ""} onChange={(value) => setSize(value === "" ? undefined : Number(value))} />
        <NumberInput label="Overlap" placeholder="160" min={0} value={overlap ?? ""} onChange={(value) => setOverlap(value === "" ? undefined : Number(value))} />
        <Button onClick={save} loading={busy}>Save</Button>
      </Group>
      <Text size="xs" c="dimmed">Applies to later uploads.</Text>
      {error !== undefined && <ErrorView error={error} />}
    </Panel>
  );
}

function Model({ index }: { index: Index }) {
  const { update, busy, error } = useUpdate(index);
  const [model, setModel] = useState(index.embeddingModel);
  if (!index.embeddingModel) return null;
  return (
    <Panel title="Embedding model">
      <Group align="flex-end">
        <TextInput label="Model" value={model} onChange={(event) => setModel(event.currentTarget.value)} w={320} maw="100%" />
        <Button disabled={model === index.embeddingModel || model === ""} loading={busy} onClick={() => void update({ embeddingModel: model }, "All chunks are being embedded again; see Build and graph.")}>Embed again</Button>
      </Group>
      <Text size="xs" c="dimmed">Another model embeds all chunks again. The present embeddings serve until it has finished.</Text>
      {error !== undefined && <ErrorView error={error} />}
    </Panel>
  );
}

function Others({ index }: { index: Index }) {
  const { update, busy, error } = useUpdate(index);
  const [fields, setFields] = useState(index.metadataIndexes);
  const [record, setRecord] = useState(index.recordQuestions);
  const [extract, setExtract] = useState(index.extract ? JSON.stringify(index.extract, null, 2) : "");
  const [invalid, setInvalid] = useState("");
  const save = () => {
    let parsed: JsonObject = {};
    try {
      parsed = extract.trim() ? (JSON.parse(extract) as JsonObject) : {};
    } catch {
      setInvalid("This is not JSON.");
      return;
    }
    setInvalid("");
    void update({ metadataIndexes: { fields }, recordQuestions: record, extract: parsed }, "Saved.");
  };
  return (
    <Panel title="Metadata and questions">
      <TagsInput label="Metadata fields with a Postgres index" description="Filters over these fields are fast in large indexes." value={fields} onChange={setFields} />
      <JsonInput label="Extraction by a language model" description='Such as {"model": "openai/gpt-5-mini", "summary": true}; empty: nothing is extracted.' autosize minRows={2} value={extract} onChange={setExtract} error={invalid || undefined} />
      <Switch label="Record questions: embeddings, to measure the search width, and texts of those that found nothing, took long or failed" checked={record} onChange={(event) => setRecord(event.currentTarget.checked)} />
      <Group><Button onClick={save} loading={busy}>Save</Button></Group>
      {error !== undefined && <ErrorView error={error} />}
    </Panel>
  );
}

function Danger({ index }: { index: Index }) {
  const client = useQueryClient();
  const removal = useRemoval();
  const [action, setAction] = useState<"truncate" | "delete">();
  const { indexName } = index;
  async function run() {
    if (action === "truncate") {
      await indexes.truncateIndex({ indexName });
      notifyDone(`${indexName} is empty.`);
      await client.invalidateQueries();
    } else {
      await removal(() => indexes.deleteIndex({ indexName }), "/");
    }
  }
  const remove = action === "delete";
  return (
    <Panel title="Delete">
      <Group>
        <Button color="red" variant="light" onClick={() => setAction("truncate")}>Delete all documents</Button>
        <Button color="red" variant="light" onClick={() => setAction("delete")}>Delete the index</Button>
      </Group>
      <Confirm opened={action !== undefined} onClose={() => setAction(undefined)} title={remove ? "Delete the index?" : "Delete all documents?"} action="Delete" type={indexName} onConfirm={run}>
        {remove ? "The index, its documents and its chunks are deleted." : "All documents and vectors of the index are deleted; its settings stay."} This cannot be undone.
      </Confirm>
    </Panel>
  );
}
