import { Anchor, Badge, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconFileText, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import { ErrorView } from "@/ui/ErrorView";
import { Panel } from "@/ui/Page";
import { Passage } from "@/ui/text/Passage";
import { percent, stepsLabel, type Group as NodeGroup, type Walk, type WalkNode } from "./walk";
import classes from "./Graph.module.css";

interface Props {
  indexName: string;
  walk: Walk;
  node: WalkNode;
  group: NodeGroup;
  byTopic: boolean;
  choose: (node: WalkNode | undefined) => void;
}

/** Chunk shows a chunk of a walk: why it was reached, its text, and its links. */
export function Chunk({ indexName, walk, node, group, byTopic, choose }: Props) {
  return (
    <Panel
      title={`Chunk ${node.ordinal} of ${node.title}`}
      actions={<Button size="compact-xs" variant="subtle" color="gray" leftSection={<IconX size={12} />} onClick={() => choose(undefined)}>Close</Button>}
    >
      <Group gap={6}>
        {node.rank > 0 && <Badge tt="none" variant="filled">Source {node.rank}</Badge>}
        <Badge tt="none" variant="light" color="gray">{stepsLabel(node.steps)}</Badge>
        {byTopic && node.topicId > 0 && <Badge tt="none" variant="light" color="gray" maw="100%">{group.label}</Badge>}
      </Group>
      <Text size="xs" c="dimmed" className={classes.break} dir="auto">{node.uri}</Text>
      <dl className={classes.facts}>
        <dt>Probability of the walk to be here</dt><dd>{percent(node.score)}</dd>
        {node.seed > 0 && <><dt>Weight as a start</dt><dd>{node.seed.toPrecision(2)}</dd></>}
      </dl>
      {node.path && (
        <div>
          <Text size="xs" c="dimmed">Why it was reached</Text>
          <Text size="sm" dir="auto" className={classes.break}>{node.path}</Text>
        </div>
      )}
      <ChunkText key={node.id} indexName={indexName} walk={walk} node={node} />
      <Button
        component={Link} to={`/indexes/${encodeURIComponent(indexName)}/documents/${encodeURIComponent(node.documentId)}?chunk=${node.ordinal}`}
        variant="default" size="xs" leftSection={<IconFileText size={14} />}
      >
        Open in the document
      </Button>
      <Links key={`links ${node.id}`} walk={walk} node={node} choose={choose} />
    </Panel>
  );
}

function ChunkText({ indexName, walk, node }: Pick<Props, "indexName" | "walk" | "node">) {
  const source = node.rank > 0 ? walk.sources[node.rank - 1] : undefined;
  const read = useQuery(
    DocumentService.method.readDocument,
    { indexName, documentId: node.documentId, startByte: node.startByte, endByte: node.endByte },
    { enabled: !source && node.endByte > node.startByte, staleTime: 60_000 },
  );
  if (source) return <blockquote className={classes.text} tabIndex={0}><Passage text={source.document} indexName={indexName} documentId={node.documentId} uri={node.uri} /></blockquote>;
  if (read.isError) return <ErrorView error={read.error} retry={() => void read.refetch()} />;
  if (read.isPending) return <Skeleton h={80} />;
  return <blockquote className={classes.text} tabIndex={0}><Passage text={read.data.text} indexName={indexName} documentId={node.documentId} uri={node.uri} /></blockquote>;
}

/** shown is the number of links that are listed at first. */
const shown = 12;

function Links({ walk, node, choose }: Pick<Props, "walk" | "node" | "choose">) {
  const [all, setAll] = useState(false);
  const links = walk.links[node.index]!.map((i) => walk.edges[i]!).sort((a, b) => b.share - a.share);
  const listed = all ? links : links.slice(0, shown);
  if (links.length === 0) return <Text size="sm" c="dimmed">It has no links to other chunks that are shown.</Text>;
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">{links.length} links: the share of the steps that take each</Text>
      <ul className={classes.links}>
        {listed.map((edge) => {
          const out = edge.from === node.index;
          const other = walk.nodes[out ? edge.to : edge.from]!;
          return (
            <li key={edge.index}>
              <span title={out ? "leads to" : "comes from"}>{out ? "→" : "←"}<span className={classes.hidden}>{out ? "leads to" : "comes from"}</span></span>
              <Anchor component="button" type="button" size="sm" ta="start" onClick={() => choose(other)}><bdi>{other.title}</bdi> · {other.ordinal}</Anchor>
              <Text span size="xs" c="dimmed"><bdi>{edge.words || edge.type}</bdi>, {percent(edge.share)}</Text>
            </li>
          );
        })}
      </ul>
      {listed.length < links.length && <Button size="compact-xs" variant="subtle" onClick={() => setAll(true)}>Show all {links.length}</Button>}
    </Stack>
  );
}
