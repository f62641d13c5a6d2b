// The TypeScript SDK, version 1: sessions.
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { PromptListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import { acme, globex, handbook, url, use, useHandbook } from "./common.mjs"
import { useBound, useSurface, withClient } from "./surface.mjs"

const updates = [], changes = []
async function connect(headers, address = url) {
  const client = new Client({ name: "sdk-v1", version: "1" })
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
await reader.close()
await other.close()
await client.transport.terminateSession()
await client.close()
await stranger.close()
