/**
 * The generated messages and services of the API, for Ragd.rpc.
 *
 * @packageDocumentation
 */
export * from "./gen/ragd/v1/agent_pb.js";
export * from "./gen/ragd/v1/chunk_pb.js";
export * from "./gen/ragd/v1/context_pb.js";
export * from "./gen/ragd/v1/document_pb.js";
export * from "./gen/ragd/v1/endpoint_pb.js";
export * from "./gen/ragd/v1/evaluate_pb.js";
export * from "./gen/ragd/v1/event_pb.js";
export * from "./gen/ragd/v1/hook_pb.js";
export * from "./gen/ragd/v1/index_pb.js";
export * from "./gen/ragd/v1/issuer_pb.js";
export * from "./gen/ragd/v1/prompt_pb.js";
export * from "./gen/ragd/v1/query_pb.js";
export * from "./gen/ragd/v1/secret_pb.js";
export * from "./gen/ragd/v1/server_pb.js";
export * from "./gen/ragd/v1/tenant_pb.js";
export * from "./gen/ragd/v1/tool_pb.js";
export * from "./gen/ragd/v1/vector_pb.js";
export * from "./gen/ragd/v1/workflow_pb.js";
export * from "./gen/google/rpc/error_details_pb.js";
export { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
export { create, fromJson, toJson } from "@bufbuild/protobuf";
