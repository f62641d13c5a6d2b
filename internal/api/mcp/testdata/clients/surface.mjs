// What a tenant defines over RPC, called by a client: tools of the kinds http, document_chunker
// and mcp with a secret, a declared key of the request context, a prompt with versions, and a
// hook. The services that tools and hook call run here, and check what they get with libraries
// of others.
import { createServer } from "node:http"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { createRemoteJWKSet, jwtVerify } from "jose"
import { Webhook } from "standardwebhooks"
import { z } from "zod"
import { check, rpc, until, url } from "./common.mjs"

async function read(request) {
  let text = ""
  for await (const part of request) text += part
  return text
}

// upstream answers as an MCP server with the tool shout.
async function upstream(request, response) {
  const server = new McpServer({ name: "upstream", version: "1" })
  server.registerTool("shout", { description: "Shouts.", inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: "text", text: `${text.toUpperCase()} for ${request.headers["x-key"]}` }],
  }))
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  await transport.handleRequest(request, response, JSON.parse((await read(request)) || "null"))
}

// serve starts the services that the tenant's tools and hook call.
async function serve() {
  const orders = [], events = []
  const server = createServer(async (request, response) => {
    if (request.url === "/upstream") return upstream(request, response)
    const call = { headers: request.headers, body: await read(request) }
    if (request.url === "/hook") {
      events.push(call)
      return response.writeHead(204).end()
    }
    orders.push(call)
    response.setHeader("Content-Type", "application/json")
    response.end(JSON.stringify({ order: request.url.split("/").pop(), country: call.headers["x-country"] ?? null }))
  })
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
  return { orders, events, close: () => server.close(), at: `http://127.0.0.1:${server.address().port}` }
}

// useSurface defines it all with names that end in by, and uses it. call calls a tool with
// arguments and returns its text; with a context if inContext can send one. changes returns how
// often the client was told that prompts have changed; strangersTools are those of another
// tenant. prompt gets one with arguments and, if it can, a version. It returns a key that is
// bound to one of the tools.
export async function useSurface(by, { tools, strangersTools, call, inContext, prompt, prompts, changes }) {
  const services = await serve()
  try {
    return await useWith(by, services, { tools, strangersTools, call, inContext, prompt, prompts, changes })
  } finally {
    services.close()
  }
}

async function useWith(by, services, { tools, strangersTools, call, inContext, prompt, prompts, changes }) {
  const secret = `s3cret-${by}`, country = `country_${by}`
  await rpc("SecretService/SetSecret", { secretName: `crm_${by}`, value: secret })
  await rpc("SecretService/SetSecret", { secretName: `signing_${by}`, generate: true })
  await rpc("ContextService/DeclareContextKey", { key: { name: country, schema: { type: "string", maxLength: 2 }, default: "de" } })
  await rpc("ContextService/DeclareContextKey", { key: { name: `level_${by}`, source: "attribute", from: "level", default: 1 } })
  await rpc("ToolService/CreateTool", {
    toolName: `order_${by}`, kind: "http", description: "Looks up an order.",
    settings: {
      method: "POST", url: `${services.at}/orders/{{arguments.order}}`, signingSecret: `signing_${by}`, token: { context: [country] },
      headers: { "X-Key": `{{secrets.crm_${by}}}`, "X-Country": `{{context.${country}}}`, "X-Tier": "{{claims.tier ?? \"free\"}}" },
      inputSchema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
    },
  })
  await rpc("ToolService/CreateTool", {
    toolName: `split_${by}`, kind: "document_chunker", description: "Splits a text.",
    settings: { chunking: { strategy: "markdown", headers: [["#", "title"]] } },
  })
  await rpc("ToolService/CreateTool", {
    toolName: `shout_${by}`, kind: "mcp", description: "Shouts elsewhere.",
    settings: { url: `${services.at}/upstream`, toolName: "shout", headers: { "X-Key": `{{secrets.crm_${by}}}` } },
  })
  const { secret: hookSecret } = await rpc("HookService/CreateHook", {
    hookName: `hook_${by}`, url: `${services.at}/hook`, events: ["tool.output"], tools: [`order_${by}`],
  })

  const listed = await tools()
  for (const name of ["order", "split", "shout"]) check(`the tool ${name}`, listed.some((t) => t.endsWith(`${name}_${by}`)), listed)
  check("the other tenant's tools", !(await strangersTools()).some((t) => t.endsWith(`_${by}`)), by)

  const text = await call(`order_${by}`, { order: "4711" })
  check("http", text.includes("4711") && text.includes('"de"'), text)
  const got = services.orders[0]
  check("secret", got.headers["x-key"] === secret && got.headers["x-tier"] === "free", got.headers)
  const keys = createRemoteJWKSet(new URL(`${url.origin}/.well-known/jwks.json`))
  const { payload } = await jwtVerify(got.headers["ragd-token"], keys, { audience: services.at })
  check("the caller's token", payload.tenant === "acme" && payload.tool === `order_${by}` && payload.context[country] === "de", payload)
  if (inContext) {
    const french = await inContext(`order_${by}`, { order: "4712" }, { [country]: "fr" })
    check("request context", french.includes('"fr"'), french)
    for (const wrong of [{ [country]: "france" }, { [`level_${by}`]: 9 }, { claims: { sub: "root" } }]) {
      const refused = await inContext(`order_${by}`, { order: "4713" }, wrong).then((text) => `answered ${text}`, () => "refused")
      check("a context that callers cannot set", refused === "refused", [wrong, refused])
    }
  }
  const pieces = await call(`split_${by}`, { text: "# One\n\nFirst.\n\n# Two\n\nSecond." })
  check("document_chunker", pieces.includes("First.") && pieces.includes("Second."), pieces)
  const shouted = await call(`shout_${by}`, { text: "ahoy" })
  check("mcp", shouted.includes("AHOY for ***"), shouted) // the secret that came back is hidden

  await until("the event", () => services.events.length > 0)
  const event = new Webhook(hookSecret).verify(services.events[0].body, services.events[0].headers)
  check("hook", event.type === "tool.output" && event.data.toolName === `order_${by}`, event)

  const definition = {
    promptName: `reply_${by}`, arguments: [{ name: "question", required: true }, { name: "tone" }],
    messages: [{ text: "Reply to {{arguments.question}} {{arguments.tone ?? \"kindly\"}}." }], versionName: "first",
  }
  await rpc("PromptService/CreatePrompt", definition)
  check("prompts", (await prompts()).includes(`reply_${by}`), await prompts())
  const reply = await prompt(`reply_${by}`, { question: "why" })
  check("prompt", reply.includes("Reply to why kindly."), reply)
  const before = changes?.()
  await rpc("PromptService/UpdatePrompt", { promptName: `reply_${by}`, messages: { messages: [{ text: "Say why: {{arguments.question}}" }] } })
  if (changes) await until("the change of a prompt", () => changes() > before)
  const second = await prompt(`reply_${by}`, { question: "how" })
  check("the latest version", second.includes("Say why: how"), second)
  if (prompt.length > 2) {
    const first = await prompt(`reply_${by}`, { question: "how" }, "first")
    check("an earlier version", first.includes("Reply to how"), first)
    const none = await prompt(`reply_${by}`, { question: "how" }, "tenth").then(() => "there", () => "none")
    check("a version that is not there", none === "none", none)
  }

  return (await rpc("TenantService/CreateApiKey", { tools: { names: [`split_${by}`] }, prompts: {}, scopes: ["read"] })).secret
}

// withClient gives what useSurface needs of a client of the TypeScript SDK.
export function withClient(client, stranger, changes) {
  const textOf = (answer) => {
    if (answer.isError) throw new Error(answer.content[0].text)
    return JSON.stringify(answer.content) + JSON.stringify(answer.structuredContent ?? "")
  }
  return {
    tools: () => namesOf("tools", (params) => client.listTools(params)),
    strangersTools: () => namesOf("tools", (params) => stranger.listTools(params)),
    call: async (name, given) => textOf(await client.callTool({ name, arguments: given })),
    inContext: async (name, given, context) => textOf(await client.callTool({ name, arguments: given, _meta: { "ragd/context": context } })),
    prompts: () => namesOf("prompts", (params) => client.listPrompts(params)),
    prompt: async (name, given, version) => {
      const { messages } = await client.getPrompt({ name, arguments: given, ...(version && { _meta: { "ragd/version": version } }) })
      return JSON.stringify(messages)
    },
    changes: () => changes.length,
  }
}

export async function pagesOf(kind, list) {
  const all = []
  for (let cursor, first = true; first || cursor; first = false) { // some clients turn the pages themselves
    const page = await list(cursor ? { cursor } : {})
    all.push(...page[kind])
    cursor = page.nextCursor
  }
  return all
}

export async function namesOf(kind, list) {
  return (await pagesOf(kind, list)).map((one) => one.name)
}

// useBound uses a key that is bound to one tool.
export async function useBound(by, client) {
  const names = await namesOf("tools", (params) => client.listTools(params))
  check("the tools of a bound key", names.join() === `split_${by}`, names)
  const split = await client.callTool({ name: `split_${by}`, arguments: { text: "# One\n\nFirst." } })
  check("the tool of a bound key", !split.isError, split)
  const other = await client.callTool({ name: `order_${by}`, arguments: { order: "1" } }).catch(() => ({ isError: true }))
  check("another tool", other.isError, other)
  check("its prompts", (await namesOf("prompts", (params) => client.listPrompts(params))).length === 0, by)
}
