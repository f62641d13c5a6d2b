import { Button, Group, Stack, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useState, type ReactNode } from "react";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { IndexService, type Index } from "@/gen/ragd/v1/index_pb";
import { QueryService, type Topic } from "@/gen/ragd/v1/query_pb";
import { ErrorView } from "@/ui/ErrorView";
import { Facts } from "@/ui/Facts";
import { count } from "@/ui/format";
import { JobProgress } from "@/ui/JobProgress";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";

const indexes = createClient(IndexService, transport);

/** Building shows the Postgres index over the embeddings and the graph of an index, and builds them anew. */
export function Building({ index }: { index: Index }) {
  const { indexName, indexConfig, searchWidth: width, graph } = index;
  return (
    <Stack gap="lg">
      <Panel title="Search index" actions={<Start label="Build now" start={async () => (await indexes.buildIndex({ indexName })).jobId} />}>
        <Facts
          facts={[
            ["Type", indexConfig?.type || "hnsw"],
            ["Vectors", `${index.vectorType || "vector"} of ${index.dimension} values, ${index.metric}`],
            ["State", index.status],
            ["Search width", width ? `${width.width}, finds ${(100 * width.recall).toFixed(1)} % of the 10 nearest in ${count(width.questions)} ${width.ownQuestions ? "recorded questions" : "chunks used as questions"}` : "not measured yet"],
            ["Indexed metadata", index.metadataIndexes.join(", ") || "none"],
          ]}
        />
        {index.reembedJobId && (
          <>
            <Text size="sm">All chunks are being embedded by {index.nextEmbeddingModel}; the present embeddings serve meanwhile.</Text>
            <JobProgress jobId={index.reembedJobId} />
          </>
        )}
      </Panel>
      <Panel title="Graph" actions={<Start label="Rebuild" start={async () => (await indexes.rebuildGraph({ indexName })).jobId} />}>
        {graph?.settings?.off ? <Text size="sm">This index stores no graph.</Text> : (
          <Facts
            facts={[
              ["Names", count(graph?.names ?? 0)],
              ["Mentions", count(graph?.mentions ?? 0)],
              ["Similar pairs", count(graph?.similarities ?? 0)],
              ["Connected components", graph?.components ? count(graph.components) : "not counted yet"],
            ]}
          />
        )}
      </Panel>
      <Panel title="Topics"><Topics indexName={indexName} /></Panel>
    </Stack>
  );
}

function Start({ label, start }: { label: string; start: () => Promise<string> }) {
  const { canWrite } = useSession();
  const [jobId, setJobId] = useState("");
  const [error, setError] = useState<unknown>();
  if (!canWrite) return null;
  const run = () => {
    setError(undefined);
    start().then(setJobId, setError);
  };
  let progress: ReactNode = null;
  if (error !== undefined) progress = <ErrorView error={error} />;
  else if (jobId) progress = <JobProgress jobId={jobId} />;
  return <Group gap="sm">{progress}<Button size="xs" variant="default" onClick={run}>{label}</Button></Group>;
}

const columns: Column<Topic>[] = [
  { head: "Topic", cell: (topic) => <Text size="sm" pl={topic.parentId ? "md" : 0} dir="auto">{topic.title}</Text> },
  { head: "About", cell: (topic) => <Text size="xs" c="dimmed" dir="auto" lineClamp={3}>{topic.summary}</Text> },
  { head: "Chunks", cell: (topic) => count(topic.chunkCount), numeric: true, narrow: true },
];

function Topics({ indexName }: { indexName: string }) {
  const topics = useQuery(QueryService.method.listTopics, { indexName, pageSize: 200 }, { retry: false });
  if (topics.isPending) return null;
  if (topics.isError) return <Text size="sm" c="dimmed">No topics: {topics.error.rawMessage}</Text>;
  if (topics.data.topics.length === 0) return <Text size="sm" c="dimmed">No topics yet: they are found in the background after uploads.</Text>;
  return (
    <>
      <Text size="sm">What the documents are about. <Link to={`/graph?index=${encodeURIComponent(indexName)}`}>Draw the graph of a question</Link></Text>
      <Table label="Topics" columns={columns} rows={topics.data.topics} id={(topic) => String(topic.topicId)} />
    </>
  );
}
