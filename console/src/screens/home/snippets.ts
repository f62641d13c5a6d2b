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
  const mcp = `${url}/mcp`;
  const headers = { Authorization: "Bearer RAGD_API_KEY" };
  return [
    { client: "Claude Code", where: "In a shell, in the project:", text: `claude mcp add --transport http ragd ${mcp} \\\n  --header "Authorization: Bearer $RAGD_API_KEY"` },
    {
      client: "Claude Desktop", where: "claude_desktop_config.json (Settings, Developer, Edit Config):",
      text: json({ mcpServers: { ragd: { command: "/usr/local/bin/ragd", args: ["mcp"], env: { RAGD_SERVER: url, RAGD_API_KEY: "RAGD_API_KEY" } } } }),
    },
    { client: "Cursor", where: "~/.cursor/mcp.json, or .cursor/mcp.json in a project:", text: json({ mcpServers: { ragd: { url: mcp, headers: { Authorization: "Bearer ${env:RAGD_API_KEY}" } } } }) },
    {
      client: "VS Code", where: ".vscode/mcp.json; the editor asks for the key and keeps it:",
      text: json({
        inputs: [{ type: "promptString", id: "ragd-key", description: "API key of ragd", password: true }],
        servers: { ragd: { type: "http", url: mcp, headers: { Authorization: "Bearer ${input:ragd-key}" } } },
      }),
    },
    { client: "Codex", where: "~/.codex/config.toml:", text: `[mcp_servers.ragd]\nurl = "${mcp}"\nbearer_token_env_var = "RAGD_API_KEY"` },
    { client: "Windsurf", where: "~/.codeium/windsurf/mcp_config.json:", text: json({ mcpServers: { ragd: { serverUrl: mcp, headers } } }) },
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
