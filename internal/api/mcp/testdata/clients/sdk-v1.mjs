// The TypeScript SDK, version 1: sessions.
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import {
  ElicitRequestSchema, LoggingMessageNotificationSchema, PromptListChangedNotificationSchema, ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js"
import { resultOf, useAgents, useTemplates } from "./agent_tools.mjs"
import { acme, globex, handbook, question, until, url, use, useHandbook } from "./common.mjs"
import { namesOf, pagesOf, useBound, useSurface, withClient } from "./surface.mjs"

const updates = [], changes = [], logged = [], questions = []
async function connect(headers, address = url, asking) {
  const client = new Client({ name: "sdk-v1", version: "1" }, { capabilities: asking ? { elicitation: {} } : {} })
  if (asking) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message)
      return asking.answer
    })
  }
  client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => void logged.push(n.params))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => void updates.push(n.params.uri))
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => void changes.push(1))
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }))
  return client
}
const client = await connect(acme), stranger = await connect(globex)
await use("sdk-v1", client, stranger, {
  updates,
  subscribe: (uri) => client.subscribeResource({ uri }),
  call: (params, options) => client.callTool(params, undefined, options),
})
const reader = await connect(acme, handbook), other = await connect(globex, handbook)
await useHandbook(reader, other)
const key = await useSurface("v1", withClient(client, stranger, changes))
const bound = await connect({ Authorization: `Bearer ${key}` })
await useBound("v1", bound)
await bound.close()

const calls = (client) => async (name, given, options) => resultOf(await client.callTool({ name, arguments: given }, undefined, options))
const asking = { questions }
const asker = await connect(acme, url, asking)
asking.call = calls(asker)
await useAgents("v1", {
  tools: () => pagesOf("tools", (params) => client.listTools(params)), strangersTools: () => namesOf("tools", (params) => stranger.listTools(params)),
  call: calls(client), asking,
})
await useTemplates(client)
await client.setLoggingLevel("info")
await client.callTool({ name: "vector_query", arguments: question })
await until("a log message", () => logged.some((m) => m.level === "info" && m.data.tool === "vector_query"))
await asker.close()
await reader.close()
await other.close()
await client.transport.terminateSession()
await client.close()
await stranger.close()
