import { Text } from "@mantine/core";
import { useMemo } from "react";
import type { AskAgentResponse } from "@/gen/ragd/v1/agent_pb";
import { plural } from "@/ui/format";
import { Json } from "@/ui/Json";
import { readsAsMarkdown } from "@/ui/text/kind";
import { Prose } from "@/ui/text/Prose";
import classes from "./Agents.module.css";

/** AnswerView shows an answer, the passages that it cites, and what it has taken. */
export function AnswerView({ answer: { text, object, citations, usage } }: { answer: AskAgentResponse }) {
  const known = useMemo(() => new Set(citations.map((citation) => citation.number)), [citations]);
  return (
    <>
      {text && <Prose text={text} markdown citations={known} />}
      {object && <Json label="Object" value={object} />}
      {citations.length > 0 && (
        <ol className={classes.citations} aria-label="Citations">
          {citations.map((citation) => (
            <li key={citation.number} id={`citation-${citation.number}`} value={citation.number} dir="auto" tabIndex={-1}>
              <Text span size="sm" fw={600}>{citation.title || citation.uri}</Text>{" "}
              <Text span size="xs" c="dimmed">{citation.uri}, bytes {citation.startByte} to {citation.endByte}</Text>
              <blockquote tabIndex={0}><Prose text={citation.text} markdown={readsAsMarkdown(citation.uri)} /></blockquote>
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
