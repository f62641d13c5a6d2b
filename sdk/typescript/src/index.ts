/**
 * Client of ragd for Node.js, browsers and edge runtimes.
 *
 * @packageDocumentation
 */
export { Answer, type AnswerEvent, type AskOptions } from "./answer.js";
export { type EmbedOptions, type Query, Ragd, type Walk } from "./client.js";
export { type ErrorCode, type FieldViolation, JobError, RagdError, type RagdErrorOptions } from "./errors.js";
export {
  type CountOptions,
  type DeleteOptions,
  type DocumentName,
  type DocumentsOptions,
  type GraphOptions,
  type IndexChanges,
  type IndexSettings,
  type QueryOptions,
  RagdIndex,
  type SearchOptions,
  type SuggestOptions,
} from "./handle.js";
export type { RetryOptions } from "./retry.js";
export type { CallOptions, RagdOptions } from "./transport.js";
export type { UploadOptions, UploadProgress, UploadResult, UploadSource } from "./upload.js";
export type { AgentCitation, AgentUsage, AskAgentResponse } from "./gen/ragd/v1/agent_pb.js";
export type { Chunk } from "./gen/ragd/v1/chunk_pb.js";
export type { DeleteDocumentsResponse, Document, Job, ReadDocumentResponse } from "./gen/ragd/v1/document_pb.js";
export type { Index } from "./gen/ragd/v1/index_pb.js";
export type { BatchAnswer, CountChunksResponse, GraphRagResponse, Source, SuggestResponse, Topic, VectorQueryResponse } from "./gen/ragd/v1/query_pb.js";
export type { CallToolResponse, Tool } from "./gen/ragd/v1/tool_pb.js";
export type { JsonObject, JsonValue } from "@bufbuild/protobuf";
