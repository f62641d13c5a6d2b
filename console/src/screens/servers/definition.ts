import { create } from "@bufbuild/protobuf";
import { UpdateServerRequestSchema, type CreateServerRequest, type UpdateServerRequest } from "@/gen/ragd/v1/server_pb";
import type { Field } from "@/ui/form/fields";

interface Names {
  stored: boolean;
  tools: string[];
  prompts: string[];
  indexes: string[];
}

/** serverFields are the fields of a server's definition. What they do not show is changed as JSON. */
export function serverFields({ stored, tools, prompts, indexes }: Names): Field[] {
  return [
    { path: "serverName", label: "Name", kind: "text", about: "1 to 63 of a-z, 0-9, _ and -. The server default is the one at /mcp.", placeholder: "handbook", required: true, fixed: stored },
    { path: "title", label: "Title", kind: "text", placeholder: "The name" },
    { path: "description", label: "Description", kind: "long", about: "For people." },
    { path: "instructions", label: "Instructions", kind: "long", about: "For models: how to use the server.", placeholder: "Those of ragd" },
    { path: "tools", label: "Tools", kind: "allowed", choices: tools },
    { path: "prompts", label: "Prompts", kind: "allowed", choices: prompts },
    { path: "indexes", label: "Indexes", kind: "allowed", choices: indexes },
    { path: "hideResources", label: "Serve no resources", kind: "switch" },
    {
      path: "presented", label: "Tools with other names or texts", kind: "list", adds: [{ label: "Add a tool", item: {} }],
      items: [
        { path: "toolName", label: "Tool", kind: "text", choices: tools, required: true },
        { path: "name", label: "Name on this server", kind: "text" },
        { path: "title", label: "Title", kind: "text", minor: true },
        { path: "description", label: "Description", kind: "long", minor: true },
      ],
    },
    { path: "defaultContext", label: "Request context of calls that set nothing else", kind: "json", placeholder: '{"topK": 5}' },
    { path: "fixedContext", label: "Request context that callers cannot change", kind: "json", about: "Its filter holds for everything that calls read and write.", placeholder: '{"filter": {"audience": "public"}}' },
    { path: "version", label: "Version", kind: "text", placeholder: "1.0.0", minor: true },
    { path: "registryName", label: "Name in the MCP registry", kind: "text", placeholder: "com.example/handbook", minor: true },
    { path: "websiteUrl", label: "Website", kind: "text", placeholder: "https://example.com", minor: true },
    { path: "repository", label: "Repository", kind: "json", placeholder: '{"url": "https://github.com/example/handbook", "source": "github"}', minor: true },
    { path: "icons", label: "Icons", kind: "json", placeholder: '[{"src": "https://example.com/icon.png", "mimeType": "image/png"}]', minor: true },
  ];
}

/** updateServer returns the request that makes a stored server what the definition says. */
export function updateServer(server: CreateServerRequest): UpdateServerRequest {
  const { serverName, version, title, description, instructions, websiteUrl, registryName, hideResources } = server;
  return create(UpdateServerRequestSchema, {
    serverName, title, description, instructions, websiteUrl, hideResources,
    version: version || "1.0.0",
    registryName,
    icons: { icons: server.icons },
    repository: server.repository ?? {},
    tools: server.tools, allTools: !server.tools,
    prompts: server.prompts, allPrompts: !server.prompts,
    indexes: server.indexes, allIndexes: !server.indexes,
    presented: { tools: server.presented },
    defaultContext: server.defaultContext ?? {},
    fixedContext: server.fixedContext ?? {},
  });
}
