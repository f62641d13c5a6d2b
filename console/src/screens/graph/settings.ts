import type { JsonValue } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { ValueSchema, type Value } from "@bufbuild/protobuf/wkt";
import { fromJson } from "@bufbuild/protobuf";
import { GraphRagRequestSchema, type GraphRagRequest } from "@/gen/ragd/v1/query_pb";

/** edgeTypes are the types of links that a walk can follow, and what each means. */
export const edgeTypes = [
  { value: "mention", label: "Mentions", about: "a text names what another defines" },
  { value: "next", label: "Reading order", about: "chunks that follow each other" },
  { value: "similar", label: "Similar", about: "embeddings that are near each other" },
] as const;

/** shownCounts are the numbers of chunks that can be drawn. */
export const shownCounts = ["50", "100", "300", "1000", "2000"];

/** Settings are the question and how it is walked; all of it stands in the page's address. */
export interface Settings {
  index: string;
  question: string;
  topK: string;
  nodes: string;
  mode: string;
  edges: string[];
  restart: string;
  steps: string;
  threshold: string;
  namespace: string;
  /** As JSON. */
  filter: string;
}

const defaults: Settings = { index: "", question: "", topK: "10", nodes: "100", mode: "", edges: [], restart: "", steps: "", threshold: "", namespace: "", filter: "" };

/** readSettings returns the settings in an address. */
export function readSettings(params: URLSearchParams): Settings {
  const read = (name: keyof Settings) => params.get(name) ?? (defaults[name] as string);
  return {
    index: read("index"), question: read("question"), topK: read("topK"), nodes: shownCounts.includes(read("nodes")) ? read("nodes") : defaults.nodes,
    mode: read("mode"), edges: params.get("edges")?.split(",").filter(Boolean) ?? [], restart: read("restart"), steps: read("steps"),
    threshold: read("threshold"), namespace: read("namespace"), filter: read("filter"),
  };
}

/** writeSettings writes settings into an address, without those that are the defaults. */
export function writeSettings(params: URLSearchParams, settings: Settings) {
  for (const [name, value] of Object.entries(settings)) {
    const text = Array.isArray(value) ? value.join(",") : String(value).trim();
    if (text === "" || text === defaults[name as keyof Settings]) params.delete(name);
    else params.set(name, text);
  }
}

/** filterError returns what is wrong with the text of a filter, or "". */
export function filterError(text: string): string {
  if (text.trim() === "") return "";
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? "" : "A filter is a JSON object, such as {\"kind\": \"guide\"}.";
  } catch {
    return "This is not JSON. An example: {\"kind\": \"guide\"}";
  }
}

function filterOf(text: string): Value | undefined {
  if (text.trim() === "" || filterError(text) !== "") return undefined;
  return fromJson(ValueSchema, JSON.parse(text) as JsonValue);
}

const number = (text: string) => (text.trim() === "" || Number.isNaN(Number(text)) ? undefined : Number(text));

/** requestOf returns the request of settings. */
export function requestOf(settings: Settings): GraphRagRequest {
  return create(GraphRagRequestSchema, {
    indexName: settings.index,
    queryText: settings.question,
    topK: number(settings.topK),
    searchMode: settings.mode,
    namespace: settings.namespace,
    filter: filterOf(settings.filter),
    explain: true,
    explainNodes: number(settings.nodes),
    graphOptions: { edgeTypes: settings.edges, restartProb: number(settings.restart), randomWalkSteps: number(settings.steps), threshold: number(settings.threshold) },
  });
}
