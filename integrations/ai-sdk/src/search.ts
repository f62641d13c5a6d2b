import type { GraphOptions, JsonObject, QueryOptions, RagdIndex, Source } from "@ragd/client";
import { jsonSchema, type Tool } from "ai";

/** What a model gives to a search. */
export interface SearchInput {
  query: string;
  topK?: number;
  filter?: JsonObject;
}

/** A passage that a search has found. */
export interface Passage {
  id: string;
  uri: string;
  title: string;
  text: string;
  score: number;
  metadata: JsonObject;
}

/** What a search returns to the program. The model gets context alone. */
export interface SearchOutput {
  /** The passages, numbered, for a prompt. */
  context: string;
  passages: Passage[];
  /** Notices that do not prevent an answer. */
  warnings: string[];
}

/** Settings of a tool that searches. */
export interface ToolSettings {
  /** Tells the model what the index holds, and when to search it. */
  description?: string;
  /** Lets the model give a filter over metadata, which must match beside that of the options. Default: false. */
  modelFilter?: boolean;
}

const queryDescription = "Searches documents for passages that answer a question. The result has the passages, numbered.";
const graphDescription =
  "Searches documents along the links between their passages: names that they mention, reading order and similarity. Use it for questions that need several passages together.";

/** queryTool returns a tool with which a model searches an index. Options are those of RagdIndex.query. */
export function queryTool(index: RagdIndex, options: Omit<QueryOptions, "signal" | "vector"> & ToolSettings = {}): Tool<SearchInput, SearchOutput> {
  const { description = queryDescription, modelFilter, ...settings } = options;
  return searchTool(description, modelFilter, (input, signal) => index.query(input.query, { ...settings, ...given(input, settings.filter), signal }));
}

/** graphTool returns a tool with which a model walks the graph of an index. Options are those of RagdIndex.graph. */
export function graphTool(index: RagdIndex, options: Omit<GraphOptions, "signal" | "vector"> & ToolSettings = {}): Tool<SearchInput, SearchOutput> {
  const { description = graphDescription, modelFilter, ...settings } = options;
  return searchTool(description, modelFilter, (input, signal) => index.graph(input.query, { ...settings, ...given(input, settings.filter), signal }));
}

type Search = (input: SearchInput, signal: AbortSignal | undefined) => Promise<{ relevantContext: string; sources: Source[]; warnings: string[] }>;

function searchTool(description: string, modelFilter: boolean | undefined, search: Search): Tool<SearchInput, SearchOutput> {
  return {
    description,
    inputSchema: jsonSchema<SearchInput>({
      type: "object",
      properties: {
        query: { type: "string", description: "The question, as a whole sentence." },
        topK: { type: "integer", minimum: 1, maximum: 1000, description: "How many passages to return." },
        ...(modelFilter && {
          filter: { type: "object", additionalProperties: true, description: 'A filter over metadata, such as {"team": "harbour"} or {"year": {"$gte": 2024}}.' },
        }),
      },
      required: ["query"],
      additionalProperties: false,
    }),
    execute: async (input, { abortSignal }) => {
      const { relevantContext, sources, warnings } = await search(modelFilter ? input : { ...input, filter: undefined }, abortSignal);
      return { context: relevantContext, passages: sources.map(passage), warnings };
    },
    toModelOutput: ({ output }) => ({ type: "text", value: output.context || "Nothing was found." }),
  };
}

/** given returns what the model has given, with a filter that must match beside the fixed one. */
function given({ topK, filter }: SearchInput, fixed: JsonObject | undefined): { topK?: number; filter?: JsonObject } {
  const filters = [fixed, filter].filter((f) => f !== undefined && Object.keys(f).length > 0) as JsonObject[];
  const both = filters.length > 1 ? { $and: filters } : filters[0];
  return { ...(topK !== undefined && { topK }), ...(both && { filter: both }) };
}

function passage({ id, uri, title, document, score, metadata }: Source): Passage {
  return { id, uri, title, text: document, score, metadata: metadata ?? {} };
}
