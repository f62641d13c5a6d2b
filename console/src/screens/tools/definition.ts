import { create } from "@bufbuild/protobuf";
import { UpdateToolRequestSchema, type CreateToolRequest, type UpdateToolRequest } from "@/gen/ragd/v1/tool_pb";
import { get, type Field } from "@/ui/form/fields";
import type { JsonObject } from "@bufbuild/protobuf";

/** kinds are the kinds of the tools that tenants define. */
export const kinds = ["vector_query", "graph_rag", "document_chunker", "http", "mcp"];
const is = (...names: string[]) => (tool: JsonObject) => names.includes(String(get(tool, "kind") ?? ""));
const query = is("vector_query", "graph_rag");
const remote = is("http", "mcp");

/** toolFields are the fields of a tool's definition. What they do not show is changed as JSON. */
export function toolFields({ stored, indexes }: { stored: boolean; indexes: string[] }): Field[] {
  return [
    { path: "toolName", label: "Name", kind: "text", about: "1 to 64 letters, digits, _ and -.", placeholder: "find_rule", required: true, fixed: stored },
    { path: "kind", label: "Kind", kind: "choice", choices: kinds, about: "What a call does. It cannot be changed later.", required: true, fixed: stored },
    { path: "title", label: "Title", kind: "text", about: "For people." },
    { path: "description", label: "Description", kind: "long", about: "For models: what the tool finds, and when to use it.", placeholder: "That of the kind" },

    { path: "settings.indexName", label: "Index", kind: "text", choices: indexes, about: "Where calls search. Needed here or among the arguments.", when: query },
    { path: "settings.topK", label: "Results (topK)", kind: "number", integer: true, min: 1, max: 1000, placeholder: "10", when: query },
    { path: "settings.searchMode", label: "Search mode", kind: "choice", choices: ["hybrid", "vector", "keyword"], when: is("vector_query") },
    { path: "settings.filter", label: "Filter", kind: "json", about: "Always holds, together with the filter that the model gives.", placeholder: '{"audience": "public"}', when: query },
    { path: "settings.enableFilter", label: "The model may give a filter", kind: "yesno", when: query },
    { path: "settings.chunking", label: "Chunking", kind: "json", placeholder: '{"strategy": "markdown", "maxSize": 800}', when: is("document_chunker") },

    { path: "settings.method", label: "Method", kind: "choice", choices: ["GET", "POST", "PUT", "PATCH", "DELETE"], required: true, when: is("http") },
    { path: "settings.url", label: "Address", kind: "text", about: "Placeholders such as {{arguments.order}} may stand in the path.", placeholder: "https://api.example.com/orders/{{arguments.order}}", required: true, when: is("http") },
    { path: "settings.url", label: "Address of the MCP server", kind: "text", placeholder: "https://mcp.example.com/mcp", required: true, when: is("mcp") },
    { path: "settings.toolName", label: "Name of the tool there", kind: "text", required: true, when: is("mcp") },
    { path: "settings.headers", label: "Headers", kind: "lines", about: "One in a line. Keys belong into secrets: everybody who may read sees this.", placeholder: "Authorization: Bearer {{secrets.crm}}", when: remote },
    { path: "settings.query", label: "Parameters of the query", kind: "json", placeholder: '{"name": "{{arguments.name}}"}', when: is("http") },
    { path: "settings.body", label: "Body", kind: "json", about: "Default: all arguments.", placeholder: '{"count": "{{arguments.count}}"}', when: (tool) => is("http")(tool) && ["POST", "PUT", "PATCH"].includes(String(get(tool, "settings.method"))) },
    { path: "settings.inputSchema", label: "Input schema", kind: "json", about: "JSON Schema of the arguments.", placeholder: '{"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}', when: is("http") },
    { path: "settings.outputSchema", label: "Output schema", kind: "json", about: "JSON Schema of the result.", minor: true, when: is("http") },
    { path: "settings.response", label: "Response", kind: "json", about: "path, text, format and maxBytes of the answer.", placeholder: '{"path": "/customers"}', minor: true, when: is("http") },
    { path: "settings.timeoutMs", label: "Time limit in ms", kind: "number", integer: true, minor: true, when: remote },
    { path: "settings.retries", label: "Repetitions", kind: "number", integer: true, minor: true, when: is("http") },
    { path: "settings.signingSecret", label: "Signing secret", kind: "text", about: "Name of the secret with which bodies are signed.", minor: true, when: is("http") },

    { path: "arguments", label: "Arguments", kind: "names", about: "What the model may give. Default: queryText, topK and filter; text for document_chunker.", when: (tool) => !remote(tool) && get(tool, "kind") !== undefined },
    { path: "fixed", label: "Requests cannot change the settings", kind: "switch", about: "By their context. A filter of it still holds.", when: (tool) => get(tool, "kind") !== undefined },
    { path: "annotations", label: "Annotations", kind: "json", about: "Hints to clients, where they differ from those of the kind.", placeholder: '{"readOnlyHint": true}', minor: true },
    { path: "meta", label: "Meta", kind: "json", about: "Additional information for MCP clients.", minor: true },
    { path: "outputSchema", label: "Output schema for clients", kind: "json", minor: true, when: (tool) => !remote(tool) },
  ];
}

/** updateTool returns the request that makes a stored tool what the definition says. */
export function updateTool(tool: CreateToolRequest): UpdateToolRequest {
  const { toolName, title, description, settings = {}, fixed, annotations, meta = {}, outputSchema = {} } = tool;
  return create(UpdateToolRequestSchema, { toolName, title, description, settings, arguments: tool.arguments, fixed, annotations: annotations ?? {}, meta, outputSchema });
}
