import type { DescService, JsonObject } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { Answer, type AskOptions } from "./answer.js";
import { AgentService } from "./gen/ragd/v1/agent_pb.js";
import { DocumentService } from "./gen/ragd/v1/document_pb.js";
import { EvaluateService } from "./gen/ragd/v1/evaluate_pb.js";
import { type Index, IndexService } from "./gen/ragd/v1/index_pb.js";
import { type BatchAnswer, type GraphRagRequestSchema, type GraphRagResponse, QueryService, type VectorQueryRequestSchema, type VectorQueryResponse } from "./gen/ragd/v1/query_pb.js";
import { type CallToolResponse, type Tool, ToolService } from "./gen/ragd/v1/tool_pb.js";
import { RagdIndex, type Services } from "./handle.js";
import { baseUrl, type CallOptions, type Fields, newTransport, pages, type RagdOptions, stream, unary } from "./transport.js";

/** Settings of embed. */
export interface EmbedOptions extends CallOptions {
  /** endpoint/model. Default: the service's default model. */
  model?: string;
}

/** A query of several indexes or of a batch: the fields of a VectorQueryRequest. */
export type Query = Fields<typeof VectorQueryRequestSchema>;

/** A walk through the graphs of several indexes: the fields of a GraphRagRequest. */
export type Walk = Fields<typeof GraphRagRequestSchema>;

/**
 * Ragd is a client of the service. It keeps no connection of its own and may be used by many callers at
 * once.
 */
export class Ragd {
  /** The settings that it was made with. */
  readonly options: RagdOptions;
  /** The transport of the generated clients, with credentials and retries. */
  readonly transport: Transport;
  readonly #services: Services;

  constructor(options: RagdOptions) {
    this.options = { ...options, url: baseUrl(options?.url) };
    this.transport = newTransport(this.options);
    this.#services = { documents: this.rpc(DocumentService), indexes: this.rpc(IndexService), queries: this.rpc(QueryService), evaluate: this.rpc(EvaluateService) };
  }

  /**
   * rpc returns the generated client of a service, such as TenantService of @ragd/client/api. Its calls
   * have the credentials and retries of this client, and throw errors of @connectrpc/connect, which
   * RagdError.from reads.
   */
  rpc<T extends DescService>(service: T): Client<T> {
    return createClient(service, this.transport);
  }

  /** index returns the index of a name. It makes no call. */
  index(name: string): RagdIndex {
    return new RagdIndex(name, this.options, this.#services);
  }

  /** indexes yields the indexes of the tenant in the order of their names. */
  indexes(call: CallOptions = {}): AsyncGenerator<Index> {
    const list = (pageToken: string) => unary(this.options, call, (options) => this.#services.indexes.listIndexes({ pageSize: 1000, pageToken }, options));
    return pages(list, (page) => page.indexes);
  }

  /** ask asks an agent a question. It is sent when the answer is read. */
  ask(agentName: string, message: string, options: AskOptions = {}): Answer {
    const request = { ask: { agentName, message, threadId: options.threadId ?? "" } };
    return new Answer(() => stream(this.options, options, (call) => this.rpc(AgentService).askAgentStream(request, call)));
  }

  /**
   * query returns the chunks of several indexes that match a question best, in one order: of those that indexNames of the
   * settings names or selects by patterns, else of all.
   */
  query(text: string, settings: Query = {}, call: CallOptions = {}): Promise<VectorQueryResponse> {
    return unary(this.options, call, (options) => this.#services.queries.vectorQuery({ ...settings, queryText: text }, options));
  }

  /** graph walks the graphs of several indexes from a question, and returns what it reaches in one order: of the same indexes as query. */
  graph(text: string, settings: Walk = {}, call: CallOptions = {}): Promise<GraphRagResponse> {
    return unary(this.options, call, (options) => this.#services.queries.graphRag({ ...settings, queryText: text }, options));
  }

  /** batch answers up to 100 queries in one call, each with an answer or an error of its own, in their order. */
  async batch(queries: Query[], call: CallOptions = {}): Promise<BatchAnswer[]> {
    const { answers } = await unary(this.options, call, (options) => this.#services.queries.batchQuery({ queries }, options));
    return answers;
  }

  /** embed returns the embeddings of texts, in the order of the texts. */
  async embed(texts: string[], options: EmbedOptions = {}): Promise<number[][]> {
    const { embeddings } = await unary(this.options, options, (call) => this.#services.queries.embed({ texts, model: options.model ?? "" }, call));
    return embeddings.map(({ values }) => values);
  }

  /** tools yields the tools that the caller may call, with the JSON Schemas of their arguments. */
  tools(call: CallOptions = {}): AsyncGenerator<Tool> {
    const list = (pageToken: string) => unary(this.options, call, (options) => this.rpc(ToolService).listTools({ includeBuiltin: true, pageSize: 1000, pageToken }, options));
    return pages(list, (page) => page.tools);
  }

  /** callTool calls a tool as an MCP client does. */
  callTool(toolName: string, args: JsonObject = {}, call: CallOptions = {}): Promise<CallToolResponse> {
    return unary(this.options, call, (options) => this.rpc(ToolService).callTool({ toolName, arguments: args }, options));
  }
}
