// The TypeScript SDK, version 2, with its package for tasks: a call that becomes a task, asks, ends and is cancelled.
import { createServer } from "node:http"
import { once } from "node:events"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client"
import { acme, check, rpc, until, url } from "./common.mjs"

const pause = 1_200 // longer than a call is waited for
let left = 0
const endpoint = createServer(async (request, response) => {
  let body = ""
  for await (const part of request) body += part
  const { arguments: given, inputResponses } = JSON.parse(body)
  response.on("close", () => { if (!response.writableEnded) left++ })
  if (given.forever) return
  await new Promise((r) => setTimeout(r, pause))
  response.setHeader("Content-Type", "application/json")
  const text = (text, isError) => ({ content: [{ type: "text", text }], isError })
  if (given.fails) response.end(JSON.stringify(text("no paint", true)))
  else if (!given.asks || inputResponses) response.end(JSON.stringify(text(`painted ${inputResponses?.c.content.colour ?? "white"}`, false)))
  else response.end(JSON.stringify({ resultType: "input_required", inputRequests: { c: { method: "elicitation/create", params: {
    mode: "form", message: "Which colour?", requestedSchema: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
  } } } }))
}).listen(0, "127.0.0.1")
await once(endpoint, "listening")
await rpc("ToolService/CreateTool", { toolName: "paint_slowly", kind: "http", description: "Paints.", settings: {
  method: "POST", url: `http://127.0.0.1:${endpoint.address().port}/`, needsTask: true, timeoutMs: 120_000, response: { format: "mcp" },
} })

const clientInfo = { name: "tasks", version: "1" }, capabilities = { elicitation: { form: {} } }
const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" }, capabilities })
await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: acme } }))
let requests = 0
// The SDK reads no answers of tasks, so its package takes a function that sends requests.
async function rawDispatch(request) {
  const { method, params } = request
  const answer = await fetch(url, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: ++requests, method, params }), headers: {
    ...acme, "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
    "Mcp-Method": method, "Mcp-Name": params.name ?? params.taskId,
  } })
  const { result, error } = await answer.json()
  return error ? { kind: "error", error } : { kind: "result", result }
}
const asked = []
const session = createTaskSessionFromClient(client, {
  endpointId: "ragd", rawDispatch, v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities: capabilities },
  onInputRequest: async (request) => {
    asked.push(request.params.message)
    return { action: "accept", content: { colour: "red" } }
  },
})
async function settled(given) {
  const execution = await session.callTool("paint_slowly", given)
  check("a task", execution.handle?.taskId, execution.kind)
  const { outcome } = await execution.settle()
  return resultFromTaskOutcome(outcome)
}
const painted = await settled({})
check("its result", painted.content[0].text === "painted white" && !painted.isError, painted)
const failed = await settled({ fails: true })
check("an error of the tool", failed.content[0].text === "no paint" && failed.isError, failed)
const red = await settled({ asks: true })
check("with an answer", red.content[0].text === "painted red" && asked.length === 1 && asked[0] === "Which colour?", { red, asked })

const endless = await session.callTool("paint_slowly", { forever: true })
await endless.cancel()
const { outcome } = await endless.settle()
check("cancelled", outcome.status === "cancelled", outcome)
await until("the end of the request", () => left === 1)

const document = await session.callTool("upload_document", { indexName: "docs", uri: "notes/task.md", text: "A note of a task." })
const ready = resultFromTaskOutcome((await document.settle()).outcome)
check("a document", ready.structuredContent.document.status === "ready", ready)
await session.close()
await client.close()
endpoint.close()
