import type { JsonObject } from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import { GraphRagRequestSchema, VectorQueryRequestSchema } from "@/gen/ragd/v1/query_pb";
import type { Evaluation, Question, Relevant } from "@/gen/ragd/v1/evaluate_pb";
import { millis } from "@/ui/format";

/** setPath is the page of a question set. */
export const setPath = (setName: string) => `/evaluate/sets/${encodeURIComponent(setName)}`;

/** runPath is the page of a run. */
export const runPath = (evaluationId: string) => `/evaluate/runs/${encodeURIComponent(evaluationId)}`;

/** comparePath is the page that compares two runs. */
export const comparePath = (baseline: string, candidate: string) => `/evaluate/compare?${new URLSearchParams({ baseline, candidate })}`;

/** settingsOf returns the settings of a run as they are in JSON, and what it asks: query, graph or agent. */
export function settingsOf({ settings }: Evaluation): { kind: "query" | "graph" | "agent"; json: JsonObject } {
  switch (settings.case) {
    case "agent": {
      const { agentName, judgeModel, declinePattern } = settings.value;
      return { kind: "agent", json: { agentName, ...(judgeModel && { judgeModel }), ...(declinePattern && { declinePattern }) } };
    }
    case "graph":
      return { kind: "graph", json: toJson(GraphRagRequestSchema, settings.value) as JsonObject };
    default:
      return { kind: "query", json: settings.case === "query" ? (toJson(VectorQueryRequestSchema, settings.value) as JsonObject) : {} };
  }
}

/** settingsText says in a line with which settings a run asked. */
export function settingsText(evaluation: Evaluation): string {
  const { settings } = evaluation;
  if (settings.case === "agent") return `agent ${settings.value.agentName}${settings.value.judgeModel && `, judged by ${settings.value.judgeModel}`}`;
  if (settings.case === "tuning") return settings.value.adopt ? "tuning, adopted if better" : "tuning";
  const query = settings.value;
  const reranker = query?.reranker && `reranked by ${query.reranker.model || query.reranker.kind || "builtin/lexical"}`;
  const mode = query?.searchMode || "standard mode";
  return [settings.case === "graph" ? `graph from ${mode}` : mode, query?.topK && `top ${query.topK}`, reranker].filter(Boolean).join(", ");
}

/** runName is what a run is called: its label, or its settings. */
export function runName(evaluation: Evaluation): string {
  return evaluation.label || settingsText(evaluation);
}

/** isFraction reports whether a measure is between 0 and 1, so that it can be drawn as a bar. */
export function isFraction(name: string): boolean {
  return !/^(p50Ms|p99Ms|tokens|cost)$/.test(name);
}

/** isLowerBetter reports whether lower values of a measure are better. */
export function isLowerBetter(name: string): boolean {
  return /^(p50Ms|p99Ms|tokens|cost|failed|judgeFailed|declinedAnswerable)$/.test(name);
}

/** value writes a measure: a fraction with three digits, a duration, a number. */
export function value(name: string, n: number): string {
  if (/Ms$/.test(name)) return millis(n);
  if (name === "tokens") return n.toFixed(0);
  if (name === "cost") return n.toPrecision(3);
  return n.toFixed(3);
}

/** signed writes a difference of a measure with its sign. */
export function signed(name: string, n: number): string {
  return `${n > 0 ? "+" : n < 0 ? "−" : ""}${value(name, Math.abs(n))}`;
}

/** relevantText names a document or a span of one. */
export function relevantText({ uri, startByte, endByte, grade }: Relevant): string {
  return `${uri}${startByte !== undefined ? `#${startByte}-${endByte}` : ""}${grade !== undefined && grade !== 1 ? ` (grade ${grade})` : ""}`;
}

/** answeredBy lists what answers a question. */
export function answeredBy(question: Question): string[] {
  if (question.unanswerable) return ["nothing"];
  return [...(question.answer ? [`“${question.answer}”`] : []), ...question.relevant.map(relevantText)];
}
