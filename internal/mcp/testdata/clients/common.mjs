// What all programs share.
export const url = new URL(process.env.RAGD_MCP_URL)
export const acme = { Authorization: `Bearer ${process.env.RAGD_ACME_KEY}` }
export const globex = { Authorization: `Bearer ${process.env.RAGD_GLOBEX_KEY}` }

export const question = { queryText: "How is the lighthouse lit?", indexName: "docs" }
export const indexes = "ragd://indexes"

export function check(what, good, got) {
  if (!good) throw new Error(`${what}: ${JSON.stringify(got)}`)
}

export async function until(what, happened) {
  for (const deadline = Date.now() + 20_000; !happened(); await new Promise((r) => setTimeout(r, 50))) {
    if (Date.now() > deadline) throw new Error(`${what} did not happen`)
  }
}

export function upload(by) {
  return { uri: `notes/${by}.md`, indexName: "docs", text: `# Notes of ${by}\n\n` + `A line of ${by}.\n\n`.repeat(200) }
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
  const resources = []
  for (let cursor, first = true; first || cursor; first = false) { // some clients turn the pages themselves
    const page = await client.listResources(cursor ? { cursor } : {})
    resources.push(...page.resources)
    cursor = page.nextCursor
  }
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
