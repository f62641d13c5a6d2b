// The TypeScript SDK, version 2, in the era of its argument: legacy or modern.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { acme, check, globex, handbook, url, use, useHandbook } from "./common.mjs"

const era = process.argv[2]
const updates = []
async function connect(headers, address = url) {
  const client = new Client({ name: "sdk-v2", version: "1" }, { versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" } })
  client.setNotificationHandler("notifications/resources/updated", (n) => void updates.push(n.params.uri))
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }))
  check("era", client.getProtocolEra() === era, client.getProtocolEra())
  return client
}
const client = await connect(acme), stranger = await connect(globex)
let listening
await use(`sdk-v2-${era}`, client, stranger, {
  updates,
  subscribe: async (uri) => {
    if (era === "modern") listening = await client.listen({ resourceSubscriptions: [uri] })
    else await client.subscribeResource({ uri })
  },
  call: (params, options) => client.callTool(params, options),
})
const reader = await connect(acme, handbook), other = await connect(globex, handbook)
await useHandbook(reader, other)
await reader.close()
await other.close()
await listening?.close()
await client.close()
await stranger.close()
