// The TypeScript SDK, version 2, in the era of its argument has its user open addresses of other servers.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { acme, check, url } from "./common.mjs"

const era = process.argv[2]
const address = "https://accounts.example.com/sign-in?state=1"
const opened = []
async function connect(capabilities) {
  const client = new Client({ name: "address", version: "1" }, { versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" }, capabilities })
  if (capabilities.elicitation) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      opened.push(params)
      return { action: "accept" }
    })
  }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: acme } }))
  check("era", client.getProtocolEra() === era, client.getProtocolEra())
  return client
}
const opens = await connect({ elicitation: { form: {}, url: {} } })
for (const of of ["modern", "legacy"]) {
  const result = await opens.callTool({ name: `mail_${era}_${of}`, arguments: {} })
  check(`the answer of a ${of} server`, !result.isError && result.content[0].text.startsWith("sent"), result)
  const asked = opened.pop()
  check("what was opened", asked?.mode === "url" && asked.url === address && asked.message.endsWith("asks: Sign in.") && opened.length === 0, asked)
}
await opens.close()

// Without the capability the model is told what its user has to do.
const silent = await connect({})
const refused = await silent.callTool({ name: `mail_${era}_silent`, arguments: {} })
check("an error with the address", refused.isError && refused.content[0].text.includes(address), refused)
const again = await silent.callTool({ name: `mail_${era}_silent`, arguments: {} })
check("the call after that", !again.isError && again.content[0].text === "sent", again)
await silent.close()
