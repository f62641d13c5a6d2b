// What all programs share.
export const url = new URL(process.env.RAGD_MCP_URL)
export const handbook = new URL(url + "/handbook")
export const acme = { Authorization: `Bearer ${process.env.RAGD_ACME_KEY}` }
export const globex = { Authorization: `Bearer ${process.env.RAGD_GLOBEX_KEY}` }

export const question = { queryText: "How is the lighthouse lit?", indexName: "docs" }
export const indexes = "ragd://indexes"

export function check(what, good, got) {
  if (!good) throw new Error(`${what}: ${JSON.stringify(got)}`)
}

export async function until(what, happened) {
  for (const deadline = Date.now() + 20_000; !(await happened()); await new Promise((r) => setTimeout(r, 50))) {
    if (Date.now() > deadline) throw new Error(`${what} did not happen`)
  }
}

export async function rpc(method, body) {
  const answer = await fetch(`${url.origin}/ragd.v1.${method}`, {
    method: "POST", headers: { ...acme, "Content-Type": "application/json" }, body: JSON.stringify(body),
  })
  const got = await answer.json()
  check(method, answer.ok, got)
  return got
}

export function upload(by) {
  return { uri: `notes/${by}.md`, indexName: "docs", text: `# Notes of ${by}\n\n` + `A line of ${by}.\n\n`.repeat(200) }
}

async function allResources(client) {
  const resources = []
  for (let cursor, first = true; first || cursor; first = false) { // some clients turn the pages themselves
    const page = await client.listResources(cursor ? { cursor } : {})
    resources.push(...page.resources)
    cursor = page.nextCursor
  }
  return resources
}

// use goes through all that a client of the TypeScript SDK can do. subscribe has
// its client told of changes of a resource, updates is what it was told, and call
// calls a tool with options.
export async function use(by, client, stranger, { subscribe, updates, call }) {
  const { tools } = await client.listTools()
  check("list", tools.some((t) => t.name === "vector_query") && tools.some((t) => t.name === "ask_docs"), tools.map((t) => t.name))
  const answer = await client.callTool({ name: "vector_query", arguments: question })
  check("call", answer.content[0].text.includes("whale oil") && answer.structuredContent.sources.length > 0, answer)
  const wrong = await client.callTool({ name: "vector_query", arguments: { ...question, filter: { year: { $above: 1 } } } })
  check("a mistake is told", wrong.isError && wrong.content[0].text.includes("$above"), wrong)
  const read = await client.readResource({ uri: indexes })
  check("read", read.contents[0].text.includes("docs"), read)
  const resources = await allResources(client)
  check("resources", resources.some((r) => r.uri.includes("/documents/")), resources)
  const { prompts } = await client.listPrompts()
  check("prompts", prompts.length >= 4, prompts)
  const prompt = await client.getPrompt({ name: "answer_with_sources", arguments: { question: question.queryText, indexName: "docs" } })
  check("prompt", JSON.stringify(prompt.messages).includes("lighthouse"), prompt)
  const completed = await client.complete({
    ref: { type: "ref/prompt", name: "answer_with_sources" }, argument: { name: "indexName", value: "d" },
  })
  check("completion", completed.completion.values.includes("docs"), completed)

  await subscribe(indexes)
  const steps = []
  const stored = await call({ name: "upload_document", arguments: upload(by) }, { onprogress: (p) => steps.push(p) })
  check("upload", stored.structuredContent.job.status === "succeeded", stored)
  await until("progress", () => steps.length > 0 && steps.at(-1).progress === steps.at(-1).total)
  await until("the update", () => updates.includes(indexes))

  const theirs = await stranger.callTool({ name: "vector_query", arguments: question })
  check("the other tenant", !theirs.isError && theirs.structuredContent.sources.length === 0, theirs)
  const listed = await stranger.listTools()
  check("the other tenant's tools", !listed.tools.some((t) => t.name === "ask_docs"), listed.tools.map((t) => t.name))
}

// useHandbook calls the tenant's own tools on its own server.
export async function useHandbook(client, stranger) {
  const info = client.getServerVersion()
  check("server", info.name === "handbook" && info.version === "2.1.0" && info.title === "The handbook of acme", info)
  check("instructions", client.getInstructions() === "Answer from the handbook of acme.", client.getInstructions())
  const { tools } = await client.listTools()
  const named = Object.fromEntries(tools.map((t) => [t.name, t]))
  check("own tools", Object.keys(named).sort().join() === "ask_handbook,walk_handbook,weather", Object.keys(named))
  check("description", named.ask_handbook.description.startsWith("Asks the handbook."), named.ask_handbook)
  check("_meta", named.walk_handbook._meta["example.com/team"] === "acme" && named.walk_handbook.title === "Walk", named.walk_handbook)
  const { annotations, outputSchema } = named.weather
  check("annotations", annotations.readOnlyHint && annotations.openWorldHint && annotations.idempotentHint && !annotations.destructiveHint, annotations)
  check("output schema", outputSchema.properties.report.type === "string", outputSchema)

  const weather = await client.callTool({ name: "weather", arguments: { city: "Oslo" } })
  check("http", weather.structuredContent.report === "fog in Oslo, acme", weather)
  const wrong = await client.callTool({ name: "weather", arguments: { town: "Oslo" } })
  check("wrong arguments", wrong.isError, wrong)
  const ask = { name: "ask_handbook", arguments: { queryText: question.queryText, topK: 5 } }
  const byDefault = await client.callTool(ask)
  check("default context", byDefault.structuredContent.sources.length === 1, byDefault)
  const filtered = await client.callTool({ ...ask, _meta: { "ragd/context": { topK: 5, filter: { audience: "staff" } } } })
  check("request context", filtered.structuredContent.sources.length === 1 && filtered.content[0].text.includes("gate of acme"), filtered)
  const both = await client.callTool({ ...ask, _meta: { "ragd/context": { topK: 2 } } })
  check("precedence", both.structuredContent.sources.length === 2, both)
  const walked = await client.callTool({ name: "walk_handbook", arguments: { queryText: question.queryText } })
  check("graph", !walked.isError && walked.structuredContent.sources.length > 0, walked)
  const hidden = await client.callTool({ name: "vector_query", arguments: question }).catch(() => ({ isError: true }))
  check("a hidden tool", hidden.isError, hidden)

  const resources = await allResources(client)
  const gate = resources.find((r) => r.uri.includes("/documents/") && JSON.stringify(r).includes("gate.md"))
  check("resources", gate, resources)
  const text = await client.readResource({ uri: gate.uri + "/text" })
  check("text", text.contents[0].text.includes("gate of acme"), text)
  const original = await client.readResource({ uri: gate.uri + "/original" })
  check("original", atob(original.contents[0].blob).includes("gate of acme"), original)

  const theirs = await stranger.callTool({ name: "weather", arguments: { city: "Oslo" } })
  check("the other tenant's tool", theirs.structuredContent.report === "fog in Oslo, globex", theirs)
  const refused = await stranger.readResource({ uri: gate.uri }).then(() => false, () => true)
  check("the other tenant's resources", refused, gate.uri)
}
