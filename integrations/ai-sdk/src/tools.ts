import type { JsonObject, Ragd } from "@ragd/client";
import { dynamicTool, jsonSchema, type ToolSet } from "ai";

/** Settings of ragdTools. */
export interface RagdToolsOptions {
  /** Takes only the tools of these names. A name that the key may not call is an error. */
  names?: string[];
  /** Takes tools that change something, too. Default: false, unless names has them. */
  writes?: boolean;
  /** Request context of the calls, such as { indexName: "docs" }, which the model cannot change. */
  context?: JsonObject;
  /** The MCP server of the tenant through which the tools are called. */
  mcpServer?: string;
  signal?: AbortSignal;
}

/** What a tool of ragd returns to the program. The model gets the text. */
export interface RagdToolOutput {
  text: string;
  /** The answer for programs, as the tool's output schema describes it. */
  structured: JsonObject | null;
}

/** ragdTools returns the tools that the client's key may call: those of the tenant and the builtin ones, with their schemas. */
export async function ragdTools(client: Ragd, options: RagdToolsOptions = {}): Promise<ToolSet> {
  const { names, writes = false, context, mcpServer, signal } = options;
  const headers = mcpServer ? { "Ragd-Server": mcpServer } : undefined;
  const tools: ToolSet = {};
  for await (const { toolName, description, inputSchema, writes: changes } of client.tools({ signal, headers })) {
    if (names ? !names.includes(toolName) : changes && !writes) continue;
    tools[toolName] = dynamicTool({
      description,
      inputSchema: jsonSchema(inputSchema ?? { type: "object" }),
      execute: async (input, { abortSignal }): Promise<RagdToolOutput> => {
        const answer = await client.callTool(toolName, input as JsonObject, { context, headers, signal: abortSignal });
        return { text: answer.text, structured: answer.structuredContent ?? null };
      },
      toModelOutput: ({ output }) => ({ type: "text", value: (output as RagdToolOutput).text }),
    });
  }
  const missing = names?.filter((name) => !(name in tools)) ?? [];
  if (missing.length > 0) throw new Error(`names: the key may call no tools ${missing.join(", ")}`);
  return tools;
}
