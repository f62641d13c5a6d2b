import { Anchor, Badge, Group, Text } from "@mantine/core";
import { Link } from "react-router";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { Json } from "@/ui/Json";
import { Passage } from "@/ui/text/Passage";
import { place as placeInWords } from "@/ui/text/place";
import { WhenSeen } from "@/ui/text/Prose";
import classes from "./Ask.module.css";
import type { Judge } from "./judge";
import { Thumbs } from "./Thumbs";
import { Why } from "./Why";

interface Props {
  rank: number;
  source: Source;
  indexName: string;
  /** The best score of the answer. */
  top: number;
  question: string;
  /** The address that shows its place. */
  place: string;
  /** Absent if the result cannot be judged. */
  judge?: Judge;
  /** How it has moved: "" if it has not. */
  moved?: string;
}

/** atOnce is how many results are shown in full before they are scrolled to. */
const atOnce = 20;

/** ResultCard shows a source: its text with what matches, why it was found, and what people say of it. */
export function ResultCard({ rank, source, indexName, top, question, place, judge, moved }: Props) {
  const name = source.title || source.uri || source.id;
  const { text: _, position, ...metadata } = (source.metadata ?? {}) as Record<string, unknown>;
  const text = <Passage text={source.document} indexName={indexName} documentId={source.documentId} uri={source.uri} matches={source.highlight?.matches} best={source.highlight?.passage} />;
  return (
    <article className={classes.result} aria-label={`Result ${rank}`}>
      <div className={classes.resultHead}>
        <div dir="auto">
          <Text span c="dimmed" size="sm">{rank}. </Text>
          {source.documentId ? <Anchor component={Link} fw={600} to={`/indexes/${encodeURIComponent(indexName)}/documents/${source.documentId}?chunk=${source.ordinal}`}>{name}</Anchor> : <b>{name}</b>}{" "}
          <Text span size="xs" c="dimmed" className={classes.where}>{[source.indexName && `in ${source.indexName}`, source.title ? source.uri : "", placeInWords(position)].filter(Boolean).join(", ")}</Text>
        </div>
        <Group gap={6} wrap="nowrap">
          {moved && <Badge size="sm" variant="light" tt="none" color={moved.startsWith("▼") ? "orange" : "green"} aria-label={moved.replace("▲", "moved up by").replace("▼", "moved down by")}>{moved}</Badge>}
          {judge && <Thumbs judge={judge} source={source} rank={rank} />}
        </Group>
      </div>
      {source.topic && <Badge variant="light" tt="none">{source.topic}</Badge>}
      {rank <= atOnce ? text : <WhenSeen instead={source.document}>{text}</WhenSeen>}
      {source.alsoIn.length > 0 && (
        <Text size="xs" style={{ overflowWrap: "anywhere" }}>
          Also in {source.alsoIn.map((other, n) => (
            <span key={other.id}>{n > 0 && ", "}{other.documentId ? <Anchor component={Link} inherit underline="always" to={`/indexes/${encodeURIComponent(indexName)}/documents/${other.documentId}?chunk=${other.ordinal}`}>{other.uri || other.title || other.id}</Anchor> : other.id}</span>
          ))}{source.alsoInCount > source.alsoIn.length && ` and ${source.alsoInCount - source.alsoIn.length} more`}
        </Text>
      )}
      <div className={classes.foot}>
        <Why source={source} question={question} top={top} />
        {source.documentId && <Anchor component={Link} size="xs" to={place}>Show the place</Anchor>}
        {Object.keys(metadata).length > 0 && <details><summary><small>Metadata</small></summary><Json label="Metadata" value={metadata} /></details>}
      </div>
    </article>
  );
}
