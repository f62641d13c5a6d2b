// Mastra's MCPClient.
import { MCPClient } from "@mastra/mcp"
import { acme, check, globex, handbook, indexes, question, until, upload, url } from "./common.mjs"
import { useAgents } from "./agent_tools.mjs"
import { useSurface } from "./surface.mjs"

const logged = [], asking = { questions: [] }
const mcp = new MCPClient({
  servers: {
    acme: { url, requestInit: { headers: acme }, enableProgressTracking: true, logger: (m) => void logged.push(m), serverLogLevel: "info" },
    asker: {
      url, requestInit: { headers: acme },
      inputRequests: ({ params }) => {
        asking.questions.push(params.message)
        return asking.answer
      },
    },
    globex: { url, requestInit: { headers: globex } },
    handbook: { url: handbook, requestInit: { headers: acme } },
    staff: { url: handbook, requestInit: { headers: { ...acme, "Ragd-Context": JSON.stringify({ topK: 5, filter: { audience: "staff" } }) } } },
    theirs: { url: handbook, requestInit: { headers: globex } },
  },
})
const tools = await mcp.listTools()
check("list", tools.acme_vector_query && tools.acme_ask_docs && !tools.globex_ask_docs, Object.keys(tools))
const sourcesOf = (answer) => (answer.structuredContent ?? answer).sources
const answer = await tools.acme_vector_query.execute(question, {})
check("call", JSON.stringify(answer).includes("whale oil"), answer)
const theirs = await tools.globex_vector_query.execute(question, {})
check("the other tenant", sourcesOf(theirs).length === 0, theirs)

const own = Object.keys(tools).filter((name) => name.startsWith("handbook_")).sort()
check("own tools", own.join() === "handbook_ask_handbook,handbook_walk_handbook,handbook_weather", own)
for (const [server, tenant] of [["handbook", "acme"], ["theirs", "globex"]]) {
  const weather = await tools[`${server}_weather`].execute({ city: "Oslo" }, {})
  check("http", (weather.structuredContent ?? weather).report === `fog in Oslo, ${tenant}`, weather)
}
check("instructions", mcp.getServerInstructions().handbook === "Answer from the handbook of acme.", mcp.getServerInstructions())
const asked = { queryText: question.queryText, topK: 5 }
const byDefault = await tools.handbook_ask_handbook.execute(asked, {})
check("default context", sourcesOf(byDefault).length === 1, byDefault)
const filtered = await tools.staff_ask_handbook.execute(asked, {})
check("request context", sourcesOf(filtered).length === 1 && JSON.stringify(filtered).includes("gate of acme"), filtered)
const walked = await tools.handbook_walk_handbook.execute({ queryText: question.queryText }, {})
check("graph", sourcesOf(walked).length > 0, walked)

const read = await mcp.resources.read("acme", indexes)
check("read", read.contents[0].text.includes("docs"), read)
const listed = await mcp.resources.list()
check("resources", listed.acme.some((r) => r.uri.includes("/documents/")), listed)
const prompt = await mcp.prompts.get({ serverName: "acme", name: "answer_with_sources", args: { question: question.queryText, indexName: "docs" } })
check("prompt", JSON.stringify(prompt.messages).includes("lighthouse"), prompt)

let heard
const updates = [], steps = []
await mcp.resources.onUpdated("acme", ({ uri }) => void updates.push(uri))
await mcp.resources.subscribe("acme", indexes)
await mcp.progress.onUpdate("acme", (p) => {
  steps.push(p)
  heard?.(p)
})
const stored = await tools.acme_upload_document.execute(upload("mastra"), {})
check("upload", JSON.stringify(stored).includes("succeeded"), stored)
await until("progress", () => steps.length > 0)
await until("the update", () => updates.includes(indexes))

const changes = []
await mcp.prompts.onListChanged("acme", () => void changes.push(1))
await useSurface("mastra", {
  tools: async () => Object.keys(await mcp.listTools()).filter((name) => name.startsWith("acme_")),
  strangersTools: async () => Object.keys(await mcp.listTools()).filter((name) => name.startsWith("globex_")),
  call: async (name, given) => JSON.stringify(await (await mcp.listTools())[`acme_${name}`].execute(given, {})),
  prompts: async () => (await mcp.prompts.list()).acme.map((p) => p.name),
  prompt: async (name, args) => JSON.stringify((await mcp.prompts.get({ serverName: "acme", name, args })).messages),
  changes: () => changes.length,
})

const calls = (server) => async (name, given, options) => {
  heard = options?.onprogress
  const tool = (await mcp.listTools())[`${server}_${name}`]
  const answer = await tool.execute(given, { abortSignal: options?.signal }).catch((err) => {
    if (options?.signal?.aborted) throw err
    return { isError: true, content: [{ text: err.message }] }
  })
  if (answer.error) return { isError: true, text: JSON.stringify(answer) } // of the client's own check
  return { isError: answer.isError ?? false, text: JSON.stringify(answer.content ?? answer), structured: answer.structuredContent ?? answer }
}
asking.call = calls("asker")
await useAgents("mastra", {
  tools: async () => Object.entries(await mcp.listTools()).filter(([name]) => name.startsWith("acme_"))
    .map(([name, tool]) => ({ name: name.slice("acme_".length), inputSchema: tool.inputSchema["~standard"].jsonSchema.input({ target: "draft-07" }) })),
  strangersTools: async () => Object.keys(await mcp.listTools()).filter((name) => name.startsWith("globex_")),
  call: calls("acme"), asking,
})
check("log messages", logged.some((m) => m.details?.data?.tool === "vector_query"), logged.map((m) => m.message))
const templates = await mcp.resources.templates()
check("templates", templates.acme.some((t) => t.uriTemplate === "ragd://indexes/{index}"), templates)
await mcp.disconnect()
