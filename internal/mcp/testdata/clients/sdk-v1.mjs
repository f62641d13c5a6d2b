// The TypeScript SDK, version 1: sessions.
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import { acme, globex, handbook, url, use, useHandbook } from "./common.mjs"

const updates = []
async function connect(headers, address = url) {
  const client = new Client({ name: "sdk-v1", version: "1" })
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => void updates.push(n.params.uri))
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
await reader.close()
await other.close()
await client.transport.terminateSession()
await client.close()
await stranger.close()
