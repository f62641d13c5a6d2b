import { fromJson, type JsonObject, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import type { Evaluation, StartEvaluationRequestSchema } from "@/gen/ragd/v1/evaluate_pb";
import { GraphRagRequestSchema, VectorQueryRequestSchema } from "@/gen/ragd/v1/query_pb";
import { settingsOf } from "./words";

/** RunSettings is what the form of a run holds. */
export interface RunSettings {
  kind: "query" | "graph" | "agent";
  label: string;
  indexName: string;
  searchMode: string;
  topK: number | "";
  reranker: string;
  /** A ranking profile, none, or empty for the default of the index. */
  profile: string;
  k: string;
  minScore: number | "";
  /** Other fields of the query, as JSON. */
  more: string;
  agentName: string;
  judgeModel: string;
  declinePattern: string;
}

const empty: RunSettings = { kind: "query", label: "", indexName: "", searchMode: "", topK: "", reranker: "", profile: "", k: "5, 10", minScore: "", more: "", agentName: "", judgeModel: "", declinePattern: "" };

const asText = (value: JsonValue | undefined) => (typeof value === "string" ? value : "");

/** settingsLike returns the settings of a run, to start another one like it; without a run, the standard ones. */
export function settingsLike(run?: Evaluation): RunSettings {
  if (!run) return empty;
  const { kind, json } = settingsOf(run);
  if (kind === "agent") return { ...empty, kind, agentName: asText(json.agentName), judgeModel: asText(json.judgeModel), declinePattern: asText(json.declinePattern) };
  const { indexName, searchMode, topK, reranker, profile, ...more } = json;
  const model = reranker && Object.keys(reranker).join() === "model" ? asText((reranker as JsonObject).model) : "";
  const others = reranker && !model ? { ...more, reranker } : more;
  return {
    ...empty, kind,
    indexName: asText(indexName), searchMode: asText(searchMode), topK: typeof topK === "number" ? topK : "", reranker: model, profile: asText(profile),
    k: run.k.join(", "), minScore: run.minScore ?? "",
    more: Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : "",
  };
}

/** startRequest makes the request that starts a run. It throws an error in words for people. */
export function startRequest(setName: string, settings: RunSettings): MessageInitShape<typeof StartEvaluationRequestSchema> {
  const { kind, label, indexName, searchMode, topK, reranker, profile, minScore, agentName, judgeModel, declinePattern } = settings;
  if (kind === "agent") return { setName, label, settings: { case: "agent", value: { agentName, judgeModel, declinePattern } } };
  const k = settings.k.split(/[\s,]+/).filter(Boolean).map(Number);
  if (k.some((n) => !Number.isInteger(n) || n < 1)) throw new Error("The numbers looked at must be whole numbers, such as 5, 10.");
  let more: JsonObject = {};
  if (settings.more.trim() !== "") {
    try {
      more = JSON.parse(settings.more) as JsonObject;
    } catch {
      throw new Error("More settings: is not JSON.");
    }
  }
  const json: JsonObject = {
    ...more,
    ...(indexName && { indexName }), ...(searchMode && { searchMode }), ...(topK !== "" && { topK }), ...(reranker && { reranker: { model: reranker } }), ...(profile && { profile }),
  };
  const common = { setName, label, k, minScore: minScore === "" ? undefined : minScore };
  try {
    if (kind === "graph") return { ...common, settings: { case: "graph", value: fromJson(GraphRagRequestSchema, json) } };
    return { ...common, settings: { case: "query", value: fromJson(VectorQueryRequestSchema, json) } };
  } catch (problem) {
    throw new Error(`More settings: ${(problem as Error).message.replace(/^cannot decode (message|field) ragd\.v1\./, "")}.`);
  }
}
