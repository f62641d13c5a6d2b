/**
 * Tools of ragd for the AI SDK.
 *
 * @packageDocumentation
 */
export { type AgentOutput, agentTool, answerStream, type Citation } from "./agent.js";
export { graphTool, type Passage, queryTool, type SearchInput, type SearchOutput, type ToolSettings } from "./search.js";
export { type RagdToolOutput, ragdTools, type RagdToolsOptions } from "./tools.js";
