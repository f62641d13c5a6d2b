// The TypeScript SDK, version 2, in the era of its argument: legacy or modern.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { resultOf, useAgents, useTemplates } from "./agent_tools.mjs"
import { acme, check, globex, handbook, question, until, url, use, useHandbook } from "./common.mjs"
import { namesOf, pagesOf, useBound, useSurface, withClient } from "./surface.mjs"

const era = process.argv[2]
const updates = [], changes = [], logged = [], questions = []
async function connect(headers, address = url, asking) {
  const client = new Client({ name: "sdk-v2", version: "1" }, {
    versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" }, capabilities: asking ? { elicitation: { form: {} } } : {},
  })
  if (asking) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      questions.push(params.message)
      return asking.answer
    })
  }
  client.setNotificationHandler("notifications/message", (n) => void logged.push(n.params))
  client.setNotificationHandler("notifications/resources/updated", (n) => void updates.push(n.params.uri))
  client.setNotificationHandler("notifications/prompts/list_changed", () => void changes.push(1))
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }))
  check("era", client.getProtocolEra() === era, client.getProtocolEra())
  return client
}
const client = await connect(acme), stranger = await connect(globex)
let listening
await use(`sdk-v2-${era}`, client, stranger, {
  updates,
  subscribe: async (uri) => {
    if (era === "modern") listening = await client.listen({ resourceSubscriptions: [uri], promptsListChanged: true })
    else await client.subscribeResource({ uri })
  },
  call: (params, options) => client.callTool(params, options),
})
const reader = await connect(acme, handbook), other = await connect(globex, handbook)
await useHandbook(reader, other)
const key = await useSurface(`v2_${era}`, withClient(client, stranger, changes))
const bound = await connect({ Authorization: `Bearer ${key}` })
await useBound(`v2_${era}`, bound)
await bound.close()

const calls = (client) => async (name, given, options) => resultOf(await client.callTool({ name, arguments: given }, options))
const asking = { questions }
const asker = await connect(acme, url, asking)
asking.call = calls(asker)
await useAgents(`v2_${era}`, {
  tools: () => pagesOf("tools", (params) => client.listTools(params)), strangersTools: () => namesOf("tools", (params) => stranger.listTools(params)),
  call: calls(client), asking,
})
await useTemplates(client)
if (era === "legacy") await client.setLoggingLevel("info")
const level = era === "modern" && { _meta: { "io.modelcontextprotocol/logLevel": "info" } }
await client.callTool({ name: "vector_query", arguments: question, ...level })
await until("a log message", () => logged.some((m) => m.level === "info" && m.data.tool === "vector_query"))
await asker.close()
await reader.close()
await other.close()
await listening?.close()
await client.close()
await stranger.close()
