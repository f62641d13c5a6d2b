import { Anchor, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { AgentCitation, AskAgentResponse } from "@/gen/ragd/v1/agent_pb";
import { plural } from "@/ui/format";
import { Json } from "@/ui/Json";
import classes from "./Agents.module.css";

/** AnswerView shows an answer, the passages that it cites, and what it has taken. */
export function AnswerView({ answer: { text, object, citations, usage } }: { answer: AskAgentResponse }) {
  return (
    <>
      {text && <Text className={classes.answer} dir="auto">{withLinks(text, citations)}</Text>}
      {object && <Json label="Object" value={object} />}
      {citations.length > 0 && (
        <ol className={classes.citations} aria-label="Citations">
          {citations.map((citation) => (
            <li key={citation.number} id={`citation-${citation.number}`} value={citation.number} dir="auto">
              <Text span size="sm" fw={600}>{citation.title || citation.uri}</Text>{" "}
              <Text span size="xs" c="dimmed">{citation.uri}, bytes {citation.startByte} to {citation.endByte}</Text>
              <blockquote>{citation.text}</blockquote>
            </li>
          ))}
        </ol>
      )}
      {usage && (
        <Text size="xs" c="dimmed">
          {plural(usage.steps, "step")}, {plural(usage.toolCalls, "call")}, {usage.inputTokens} tokens read, {usage.outputTokens} written
          {usage.cost > 0 && `, cost ${usage.cost.toPrecision(3)}`}{usage.removedCitations > 0 && `, ${plural(usage.removedCitations, "wrong citation")} removed`}
        </Text>
      )}
    </>
  );
}

/** withLinks makes the citations in a text, such as [1], lead to their passages. */
function withLinks(text: string, citations: AgentCitation[]): ReactNode[] {
  const known = new Set(citations.map((citation) => citation.number));
  return text.split(/(\[\d+\])/).map((piece, i) => {
    const number = Number(/^\[(\d+)\]$/.exec(piece)?.[1]);
    return known.has(number) ? <Anchor key={i} component={Link} underline="always" to={`#citation-${number}`}>{piece}</Anchor> : piece;
  });
}
