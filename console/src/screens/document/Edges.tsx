import { Anchor, Button, Skeleton, Text } from "@mantine/core";
import { Code, ConnectError } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import { type ChunkEdge, QueryService } from "@/gen/ragd/v1/query_pb";
import { ErrorView } from "@/ui/ErrorView";
import { Panel } from "@/ui/Page";
import classes from "./Document.module.css";

interface Props {
  indexName: string;
  documentId: string;
  ordinal: number;
}

/** Edges lists the edges of the stored graph at a chunk. */
export function Edges({ indexName, documentId, ordinal }: Props) {
  const list = useInfiniteQuery(
    QueryService.method.listEdges,
    { indexName, documentId, ordinal, pageSize: 20, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined, retry: false },
  );
  const edges = list.data?.pages.flatMap((page) => page.edges) ?? [];
  return (
    <Panel title="Edges of the graph">
      {list.isPending && <Skeleton h={60} />}
      {list.isError && (ConnectError.from(list.error).code === Code.FailedPrecondition
        ? <Text size="sm" c="dimmed">The index keeps no graph.</Text>
        : <ErrorView error={list.error} retry={() => void list.refetch()} />)}
      {list.isSuccess && edges.length === 0 && <Text size="sm" c="dimmed">No edge leads to this chunk or from it.</Text>}
      {edges.length > 0 && <ul className={classes.edges}>{edges.map((edge, i) => <Edge key={i} edge={edge} indexName={indexName} documentId={documentId} />)}</ul>}
      {list.hasNextPage && <Button variant="default" size="compact-xs" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>Show more edges</Button>}
    </Panel>
  );
}

const arrows: Record<string, [arrow: string, word: string]> = { out: ["→", "to"], in: ["←", "from"], both: ["↔", "to and from"] };

function Edge({ edge, indexName, documentId }: { edge: ChunkEdge; indexName: string; documentId: string }) {
  const { chunk } = edge;
  if (!chunk) return null;
  const [arrow, word] = arrows[edge.direction] ?? ["", edge.direction];
  const own = chunk.documentId === documentId;
  return (
    <li>
      <span role="img" aria-label={word} title={word}>{arrow}</span>
      <div>
        <Anchor component={Link} size="sm" to={`/indexes/${encodeURIComponent(indexName)}/documents/${chunk.documentId}?chunk=${chunk.ordinal}`}>
          <bdi>{own ? `Chunk ${chunk.ordinal}` : chunk.title || chunk.uri}</bdi>
        </Anchor>
        {!own && <small>, chunk {chunk.ordinal}</small>}
        <div><small dir="auto">{edge.words}, weight {edge.weight.toPrecision(2)}</small></div>
      </div>
    </li>
  );
}
