// The TypeScript SDK, version 2, in the era of its argument: legacy or modern.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { acme, check, globex, handbook, url, use, useHandbook } from "./common.mjs"
import { useBound, useSurface, withClient } from "./surface.mjs"

const era = process.argv[2]
const updates = [], changes = []
async function connect(headers, address = url) {
  const client = new Client({ name: "sdk-v2", version: "1" }, { versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" } })
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
await reader.close()
await other.close()
await listening?.close()
await client.close()
await stranger.close()
