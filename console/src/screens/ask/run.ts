import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { transport } from "@/app/transport";
import { GraphRagRequestSchema, QueryService, VectorQueryRequestSchema, type ContextValue, type Reranking, type Source, type Stage } from "@/gen/ragd/v1/query_pb";
import { parseObject, request, type AskSettings } from "./settings";

const queries = createClient(QueryService, transport);

/** Answer is what a question found, and how. */
export interface Answer {
  /** The indexes that were asked, as in settings. */
  indexName: string;
  /** Names the answer to those who judge it; empty if it has no name. */
  queryId: string;
  sources: Source[];
  warnings: string[];
  stages: Stage[];
  reranking?: Reranking;
  context: ContextValue[];
  /** Names and values of the plan. */
  plan: [string, string][];
  /** From sending the question until the answer had arrived, in ms. */
  roundTrip: number;
}

/** ask asks a question, for the boxes of sources on their pages too if they are wanted. Errors: those of the call; InvalidArgument for settings that are not JSON. */
export async function ask(question: string, settings: AskSettings, boxes: boolean, signal: AbortSignal): Promise<Answer> {
  const { method, message, problem } = request(question, settings);
  const context = parseObject(settings.context, "The request context");
  if (problem ?? context.problem) throw new ConnectError(problem ?? context.problem ?? "", Code.InvalidArgument);
  const explained: JsonObject = { ...message, explain: true, highlight: true, includeBoxes: boxes };
  const headers: Record<string, string> = context.value ? { "Ragd-Context": JSON.stringify(context.value) } : {};
  const began = performance.now();
  if (method === "GraphRag") {
    const answer = await queries.graphRag(fromJson(GraphRagRequestSchema, explained), { signal, headers });
    const { explain } = answer;
    return {
      indexName: settings.index, queryId: answer.queryId, sources: answer.sources, warnings: answer.warnings, stages: explain?.stages ?? [], reranking: explain?.reranking, context: explain?.context ?? [],
      plan: [["Mode of the seeds", explain?.searchMode ?? ""], ["Chunks reached", String(explain?.nodes.length ?? 0)], ["Edges", String(explain?.edges.length ?? 0)]],
      roundTrip: performance.now() - began,
    };
  }
  const answer = await queries.vectorQuery(fromJson(VectorQueryRequestSchema, explained), { signal, headers });
  const { explain } = answer;
  return {
    indexName: settings.index, queryId: answer.queryId, sources: answer.sources, warnings: answer.warnings, stages: explain?.stages ?? [], reranking: explain?.reranking, context: explain?.context ?? [],
    plan: [
      ["Mode", explain?.searchMode ?? ""],
      ["Plan", explain?.plan ?? ""],
      ["Chunks examined", explain?.candidates ? `about ${explain.candidates}` : ""],
      ["Search width", explain?.searchWidth ? String(explain.searchWidth) : ""],
      ["Calibration of scores", explain?.calibration ?? ""],
      ["Complete", explain?.complete ? "yes" : "no: fewer than asked for matched"],
      ["Exact", explain?.exact ? "yes: no better source exists" : "no: approximate"],
    ],
    roundTrip: performance.now() - began,
  };
}
