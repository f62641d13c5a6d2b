/** Snippet is what makes a client call the service. */
export interface Snippet {
  client: string;
  /** Where the text belongs. */
  where: string;
  text: string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);

/** snippets returns the configuration of each client for the service at an address. */
export function snippets(url: string): Snippet[] {
  return [...mcpSnippets(url), ...apiSnippets(url)];
}

/** mcpSnippets returns the configuration of each MCP client for the service at an address, or for one of its MCP servers. */
export function mcpSnippets(url: string, server?: { name: string; url: string }): Snippet[] {
  const mcp = server?.url ?? `${url}/mcp`;
  const name = server?.name ?? "ragd";
  const args = server && server.name !== "default" ? ["mcp", "--mcp-server", server.name] : ["mcp"];
  const headers = { Authorization: "Bearer RAGD_API_KEY" };
  return [
    { client: "Claude Code", where: "In a shell, in the project:", text: `claude mcp add --transport http ${name} ${mcp} \\\n  --header "Authorization: Bearer $RAGD_API_KEY"` },
    {
      client: "Claude Desktop", where: "claude_desktop_config.json (Settings, Developer, Edit Config):",
      text: json({ mcpServers: { [name]: { command: "/usr/local/bin/ragd", args, env: { RAGD_SERVER: url, RAGD_API_KEY: "RAGD_API_KEY" } } } }),
    },
    { client: "Cursor", where: "~/.cursor/mcp.json, or .cursor/mcp.json in a project:", text: json({ mcpServers: { [name]: { url: mcp, headers: { Authorization: "Bearer ${env:RAGD_API_KEY}" } } } }) },
    {
      client: "VS Code", where: ".vscode/mcp.json; the editor asks for the key and keeps it:",
      text: json({
        inputs: [{ type: "promptString", id: "ragd-key", description: "API key of ragd", password: true }],
        servers: { [name]: { type: "http", url: mcp, headers: { Authorization: "Bearer ${input:ragd-key}" } } },
      }),
    },
    { client: "Codex", where: "~/.codex/config.toml:", text: `[mcp_servers.${name}]\nurl = "${mcp}"\nbearer_token_env_var = "RAGD_API_KEY"` },
    { client: "Windsurf", where: "~/.codeium/windsurf/mcp_config.json:", text: json({ mcpServers: { [name]: { serverUrl: mcp, headers } } }) },
  ];
}

function apiSnippets(url: string): Snippet[] {
  return [
    {
      client: "curl", where: "In a shell:",
      text: `curl ${url}/ragd.v1.QueryService/VectorQuery \\\n  -H "Authorization: Bearer $RAGD_API_KEY" -H 'Content-Type: application/json' \\\n  -d '{"indexName": "docs", "queryText": "when does the gate open?", "topK": 3}'`,
    },
    {
      client: "TypeScript", where: "Without a library; the messages are those of the API reference:",
      text: `const response = await fetch("${url}/ragd.v1.QueryService/VectorQuery", {\n  method: "POST",\n  headers: {\n    Authorization: \`Bearer \${process.env.RAGD_API_KEY}\`,\n    "Content-Type": "application/json",\n  },\n  body: JSON.stringify({ indexName: "docs", queryText: "when does the gate open?", topK: 3 }),\n});\nif (!response.ok) throw new Error(await response.text());\nconsole.log(await response.json());`,
    },
    {
      client: "Python", where: "With the standard library:",
      text: `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}/ragd.v1.QueryService/VectorQuery",\n    json.dumps({"indexName": "docs", "queryText": "when does the gate open?", "topK": 3}).encode(),\n    {"Authorization": f"Bearer {os.environ['RAGD_API_KEY']}", "Content-Type": "application/json"},\n)\nwith urllib.request.urlopen(request) as response:\n    print(json.load(response))`,
    },
  ];
}
