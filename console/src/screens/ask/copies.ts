import { parseObject, request, type AskSettings } from "./settings";

/** Copy is a program, or a message, that asks a question. */
export interface Copy {
  id: string;
  label: string;
  text: string;
}

/** copies returns programs for the service at an address. The key is in the variable RAGD_API_KEY. */
export function copies(url: string, question: string, settings: AskSettings): Copy[] {
  const { method, message } = request(question, settings);
  const context = parseObject(settings.context, "").value;
  const header = context ? JSON.stringify(context) : "";
  const pretty = JSON.stringify(message, null, 2);
  const address = `${url}/ragd.v1.QueryService/${method}`;
  const tool = method === "GraphRag" ? "graph_rag" : "vector_query";
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: message, ...(context ? { _meta: { context } } : {}) } };
  return [
    {
      id: "curl", label: "curl",
      text: [`curl ${address} \\`, `  -H "Authorization: Bearer $RAGD_API_KEY" -H 'Content-Type: application/json' \\`, ...(header ? [`  -H ${quoted(`Ragd-Context: ${header}`)} \\`] : []), `  -d ${quoted(pretty)}`].join("\n"),
    },
    {
      id: "typescript", label: "TypeScript",
      text: `const response = await fetch(${JSON.stringify(address)}, {
  method: "POST",
  headers: {
    Authorization: \`Bearer \${process.env.RAGD_API_KEY}\`,
    "Content-Type": "application/json",${header ? `\n    "Ragd-Context": ${JSON.stringify(header)},` : ""}
  },
  body: JSON.stringify(${indent(pretty, 2)}),
});
if (!response.ok) throw new Error(await response.text());
const { sources } = await response.json();
for (const source of sources) console.log(source.score, source.uri, source.document);`,
    },
    {
      id: "python", label: "Python",
      text: `import json, os, urllib.request

message = json.loads(r"""${pretty.replaceAll('"""', '\\"\\"\\"')}""")
request = urllib.request.Request(
    ${JSON.stringify(address)},
    json.dumps(message).encode(),
    {"Authorization": f"Bearer {os.environ['RAGD_API_KEY']}", "Content-Type": "application/json"${header ? `, "Ragd-Context": ${JSON.stringify(header)}` : ""}},
)
with urllib.request.urlopen(request) as response:
    for source in json.load(response)["sources"]:
        print(source["score"], source["uri"], source["document"])`,
    },
    { id: "mcp", label: "MCP call", text: JSON.stringify(call, null, 2) },
  ];
}

/** quoted returns a text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function indent(text: string, by: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(by)}`);
}
