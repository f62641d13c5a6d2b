// The TypeScript SDK, version 1: sessions.
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import { acme, globex, url, use } from "./common.mjs"

const updates = []
async function connect(headers) {
  const client = new Client({ name: "sdk-v1", version: "1" })
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => void updates.push(n.params.uri))
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  return client
}
const client = await connect(acme), stranger = await connect(globex)
await use("sdk-v1", client, stranger, {
  updates,
  subscribe: (uri) => client.subscribeResource({ uri }),
  call: (params, options) => client.callTool(params, undefined, options),
})
await client.transport.terminateSession()
await client.close()
await stranger.close()
