import { Anchor, Badge, Checkbox, Text } from "@mantine/core";
import { Link } from "react-router";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { Json } from "@/ui/Json";
import { Passage } from "@/ui/text/Passage";
import { place } from "@/ui/text/place";
import { WhenSeen } from "@/ui/text/Prose";
import classes from "./Ask.module.css";

interface Props {
  rank: number;
  source: Source;
  indexName: string;
  /** The best score of the answer. */
  top: number;
  relevant: boolean;
  onRelevant: () => void;
}

/** ResultCard shows a source: its text with what matches, and where its score comes from. */
export function ResultCard({ rank, source, indexName, top, relevant, onRelevant }: Props) {
  const name = source.title || source.uri || source.id;
  const { text: _, position, ...metadata } = (source.metadata ?? {}) as Record<string, unknown>;
  return (
    <article className={classes.result} aria-label={`Result ${rank}`}>
      <div className={classes.resultHead}>
        <div dir="auto">
          <Text span c="dimmed" size="sm">{rank}. </Text>
          {source.documentId ? <Anchor component={Link} fw={600} to={`/indexes/${encodeURIComponent(indexName)}/documents/${source.documentId}?chunk=${source.ordinal}`}>{name}</Anchor> : <b>{name}</b>}{" "}
          <Text span size="xs" c="dimmed" className={classes.where}>{[source.title ? source.uri : "", place(position)].filter(Boolean).join(", ")}</Text>
        </div>
        <Checkbox size="xs" label="Relevant" checked={relevant} onChange={onRelevant} disabled={!source.uri} />
      </div>
      {source.topic && <Badge variant="light" tt="none">{source.topic}</Badge>}
      <WhenSeen instead={source.document}><Passage text={source.document} indexName={indexName} documentId={source.documentId} matches={source.highlight?.matches} best={source.highlight?.passage} /></WhenSeen>
      {source.path && <Text size="xs">{source.path}</Text>}
      {source.alsoIn.length > 0 && (
        <Text size="xs" style={{ overflowWrap: "anywhere" }}>
          Also in {source.alsoIn.map((other, n) => (
            <span key={other.id}>{n > 0 && ", "}{other.documentId ? <Anchor component={Link} inherit underline="always" to={`/indexes/${encodeURIComponent(indexName)}/documents/${other.documentId}?chunk=${other.ordinal}`}>{other.uri || other.title || other.id}</Anchor> : other.id}</span>
          ))}{source.alsoInCount > source.alsoIn.length && ` and ${source.alsoInCount - source.alsoIn.length} more`}
        </Text>
      )}
      <Scores source={source} top={top} />
      {Object.keys(metadata).length > 0 && <details><summary><small>Metadata</small></summary><Json label="Metadata" value={metadata} /></details>}
    </article>
  );
}

/** Scores draws the parts of a score as bars: the score relative to the best one, the parts from 0 to 1. */
function Scores({ source, top }: { source: Source; top: number }) {
  const rows: [string, number, number][] = [["score", source.score, source.score / top]];
  if (source.similarity !== undefined) rows.push(["similarity", source.similarity, source.similarity]);
  if (source.keywordScore !== undefined) rows.push(["keyword", source.keywordScore, source.keywordScore]);
  if (source.details) {
    rows.push([source.details.estimated ? "reranker (estimated)" : "reranker", source.details.semantic, source.details.semantic]);
    rows.push(["before reranking", source.details.vector, source.details.vector]);
    rows.push(["rank before", source.details.position, source.details.position]);
  }
  return (
    <div className={classes.scores}>
      {rows.flatMap(([name, value, share]) => [
        <span key={`${name}n`}>{name}</span>,
        <div key={`${name}b`} className={classes.bar}><div className={classes.fill} style={{ width: `${100 * Math.min(Math.max(share, 0), 1)}%` }} /></div>,
        <span key={`${name}v`}>{value.toPrecision(3)}</span>,
      ])}
    </div>
  );
}
