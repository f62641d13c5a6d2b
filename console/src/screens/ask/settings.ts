import type { JsonObject } from "@bufbuild/protobuf";
import { conditionsOf, operators } from "./filter";
import { indexesOf, oneIndex } from "./indexes";

/** AskSettings are how a question is asked; those that are empty have their default. */
export interface AskSettings {
  /** Names and patterns of the indexes that are asked, with commas between. */
  index: string;
  /** vector, keyword or hybrid; graph walks the graph. */
  mode: string;
  topK: number;
  /** A filter as JSON text. */
  filter: string;
  /** Kind of the reranker: lexical, cross-encoder, llm, ...; empty for none. */
  rerank: string;
  /** Model of the reranker, as endpoint/model. */
  model: string;
  diversity: number;
  neighbours: number;
  maxPerDocument: number;
  /** The field of metadata with dates by which newer sources rank higher, and the age at which half of that is left. */
  newer: string;
  halfLife: string;
  /** "each" returns near-identical passages each; empty for once. */
  repeats: string;
  namespace: string;
  /** The ranking profile: a name, none, or empty for the default of the index. */
  profile: string;
  /** Values of the request context, as JSON text. */
  context: string;
}

export const modes = [
  { value: "", label: "Default" },
  { value: "hybrid", label: "Hybrid" },
  { value: "vector", label: "Vector" },
  { value: "keyword", label: "Keyword" },
  { value: "graph", label: "Graph" },
];

const none: AskSettings = { index: "", mode: "", topK: 10, filter: "", rerank: "", model: "", diversity: 0, neighbours: 0, maxPerDocument: 0, newer: "", halfLife: "30d", repeats: "", namespace: "", profile: "", context: "" };

/** fromAddress returns the settings in an address. Names of the second column begin with its prefix. */
export function fromAddress(params: URLSearchParams, prefix = ""): AskSettings {
  const settings = { ...none };
  for (const name of Object.keys(none) as (keyof AskSettings)[]) {
    const value = params.get(prefix + name) ?? (prefix ? params.get(name) : null);
    if (value !== null) Object.assign(settings, { [name]: typeof none[name] === "number" ? Number(value) : value });
  }
  return settings;
}

/** toAddress writes changed settings into an address. */
export function toAddress(params: URLSearchParams, change: Partial<AskSettings>, prefix = "") {
  for (const [name, value] of Object.entries(change)) {
    const key = prefix + name;
    // The second column takes over what it does not name itself, so a default must be written there.
    if (!prefix && value === none[name as keyof AskSettings]) params.delete(key);
    else params.set(key, String(value));
  }
}

/** placeAddress returns the address of the page that shows the place of a result. */
export function placeAddress(question: string, settings: AskSettings, rank: number): string {
  const params = new URLSearchParams({ question });
  toAddress(params, settings);
  params.set("hit", String(rank));
  return `/read?${params.toString()}`;
}

/** inWords says what is set, in one line. */
export function inWords(s: AskSettings): string {
  const { conditions, text } = filterInWords(s.filter);
  return [
    s.mode === "graph" ? "Walk through the graph" : s.mode ? `${modes.find((mode) => mode.value === s.mode)?.label ?? s.mode} search` : "Default search",
    `${s.topK} result${s.topK === 1 ? "" : "s"}`,
    s.rerank && `reranker ${s.rerank}${s.model ? ` (${s.model})` : ""}`,
    s.diversity > 0 && `diversity ${s.diversity}`,
    s.neighbours > 0 && `${s.neighbours} neighbour${s.neighbours === 1 ? "" : "s"}`,
    s.maxPerDocument > 0 && `at most ${s.maxPerDocument} per document`,
    s.newer && `newer first by ${s.newer}, half-life ${s.halfLife}`,
    s.repeats && "same passage each time",
    s.namespace && `namespace ${s.namespace}`,
    s.profile && (s.profile === "none" ? "no ranking profile" : `ranking profile ${s.profile}`),
    conditions && `where ${text}`,
    s.context.trim() && "with a request context",
  ].filter(Boolean).join(", ");
}

function filterInWords(filter: string): { conditions: boolean; text: string } {
  if (filter.trim() === "") return { conditions: false, text: "" };
  const conditions = conditionsOf(filter);
  if (conditions === undefined) return { conditions: true, text: "a filter matches" };
  const text = conditions.map(({ field, operator, value }) => `${field} ${operators.find((known) => known.value === operator)?.label ?? operator} ${value}`).join(" and ");
  return { conditions: conditions.length > 0, text };
}

/** parseObject returns the JSON object in a text, undefined for an empty text, or what is wrong with it. */
export function parseObject(text: string, name: string): { value?: JsonObject; problem?: string } {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value: value as JsonObject };
  } catch { /* told below */ }
  return { problem: `${name} is not a JSON object.` };
}

/** request returns the method of the API that asks a question, and its message as JSON without defaults. */
export function request(question: string, s: AskSettings): { method: "VectorQuery" | "GraphRag"; message: JsonObject; problem?: string } {
  const { value: filter, problem } = parseObject(s.filter, "The filter");
  const message: JsonObject = { ...(oneIndex(s.index) ? { indexName: s.index } : { indexNames: indexesOf(s.index) }), queryText: question, topK: s.topK };
  if (filter && Object.keys(filter).length > 0) message.filter = filter;
  if (s.repeats) message.distinct = false;
  if (s.namespace) message.namespace = s.namespace;
  if (s.profile) message.profile = s.profile;
  if (s.rerank) message.reranker = { kind: s.rerank, ...(s.model ? { model: s.model } : {}) };
  if (s.mode === "graph") return { method: "GraphRag", message, problem };
  if (s.mode) message.searchMode = s.mode;
  if (s.diversity) message.diversity = s.diversity;
  if (s.neighbours) message.neighbours = s.neighbours;
  if (s.maxPerDocument) message.maxPerDocument = s.maxPerDocument;
  if (s.newer) message.boost = { field: s.newer, halfLife: s.halfLife };
  return { method: "VectorQuery", message, problem };
}
