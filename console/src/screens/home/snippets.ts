/** Snippet is what makes a client call the service. */
export interface Snippet {
  client: string;
  /** Where the text belongs. */
  where: string;
  text: string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);

/** snippets returns the configuration of each client for the service at an address, with an API key or with the place where it belongs. */
export function snippets(url: string, key: string): Snippet[] {
  return [...mcpSnippets(url, key), ...apiSnippets(url, key)];
}

/** mcpSnippets returns the configuration of each MCP client for the service at an address, or for one of its MCP servers. */
export function mcpSnippets(url: string, key: string, server?: { name: string; url: string }): Snippet[] {
  const mcp = server?.url ?? `${url}/mcp`;
  const name = server?.name ?? "ragd";
  const args = server && server.name !== "default" ? ["mcp", "--mcp-server", server.name] : ["mcp"];
  const bearer = (unknown: string) => `Bearer ${key || unknown}`;
  return [
    { client: "Claude Code", where: "In a shell, in the project:", text: `claude mcp add --transport http ${name} ${mcp} \\\n  --header "Authorization: ${bearer("$RAGD_API_KEY")}"` },
    {
      client: "Claude Desktop", where: "claude_desktop_config.json (Settings, Developer, Edit Config):",
      text: json({ mcpServers: { [name]: { command: "/usr/local/bin/ragd", args, env: { RAGD_SERVER: url, RAGD_API_KEY: key || "RAGD_API_KEY" } } } }),
    },
    { client: "Cursor", where: "~/.cursor/mcp.json, or .cursor/mcp.json in a project:", text: json({ mcpServers: { [name]: { url: mcp, headers: { Authorization: bearer("${env:RAGD_API_KEY}") } } } }) },
    {
      client: "VS Code", where: key ? ".vscode/mcp.json:" : ".vscode/mcp.json; the editor asks for the key and keeps it:",
      text: json({
        ...(!key && { inputs: [{ type: "promptString", id: "ragd-key", description: "API key of ragd", password: true }] }),
        servers: { [name]: { type: "http", url: mcp, headers: { Authorization: bearer("${input:ragd-key}") } } },
      }),
    },
    { client: "Codex", where: "~/.codex/config.toml:", text: `[mcp_servers.${name}]\nurl = "${mcp}"\n${key ? `http_headers = { "Authorization" = "Bearer ${key}" }` : 'bearer_token_env_var = "RAGD_API_KEY"'}` },
    { client: "Gemini CLI", where: "In a shell:", text: `gemini mcp add --scope user --transport http \\\n  --header "Authorization: ${bearer("$RAGD_API_KEY")}" ${name} ${mcp}` },
    { client: "opencode", where: "opencode.json in a project, or ~/.config/opencode/opencode.json:", text: json({ mcp: { [name]: { type: "remote", url: mcp, headers: { Authorization: bearer("{env:RAGD_API_KEY}") } } } }) },
    { client: "Windsurf", where: "~/.codeium/windsurf/mcp_config.json:", text: json({ mcpServers: { [name]: { serverUrl: mcp, headers: { Authorization: bearer("RAGD_API_KEY") } } } }) },
  ];
}

function apiSnippets(url: string, key: string): Snippet[] {
  return [
    {
      client: "curl", where: "In a shell:",
      text: `curl ${url}/ragd.v1.QueryService/VectorQuery \\\n  -H "Authorization: Bearer ${key || "$RAGD_API_KEY"}" -H 'Content-Type: application/json' \\\n  -d '{"indexName": "docs", "queryText": "when does the gate open?", "topK": 3}'`,
    },
    {
      client: "TypeScript", where: "Without a library; the messages are those of the API reference:",
      text: `const response = await fetch("${url}/ragd.v1.QueryService/VectorQuery", {\n  method: "POST",\n  headers: {\n    Authorization: ${key ? `"Bearer ${key}"` : "`Bearer ${process.env.RAGD_API_KEY}`"},\n    "Content-Type": "application/json",\n  },\n  body: JSON.stringify({ indexName: "docs", queryText: "when does the gate open?", topK: 3 }),\n});\nif (!response.ok) throw new Error(await response.text());\nconsole.log(await response.json());`,
    },
    {
      client: "Python", where: "With the standard library:",
      text: `import json${key ? "" : ", os"}, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}/ragd.v1.QueryService/VectorQuery",\n    json.dumps({"indexName": "docs", "queryText": "when does the gate open?", "topK": 3}).encode(),\n    {"Authorization": ${key ? `"Bearer ${key}"` : `f"Bearer {os.environ['RAGD_API_KEY']}"`}, "Content-Type": "application/json"},\n)\nwith urllib.request.urlopen(request) as response:\n    print(json.load(response))`,
    },
  ];
}
