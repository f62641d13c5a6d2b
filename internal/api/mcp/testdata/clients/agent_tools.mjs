// Agents and workflows that a tenant defines over RPC, called by a client as the tools ask_NAME and
// run_NAME. The chat model runs beside the service; what it is asked to wait for it never answers.
import { check, question, rpc, until } from "./common.mjs"

const formatOf = (properties, required) => ({ type: "object", properties, required })

async function define(by) {
  const model = "openai/m"
  await rpc("AgentService/CreateAgent", { agentName: `keeper_${by}`, definition: { model, description: "Knows the harbour." } })
  await rpc("AgentService/CreateAgent", { agentName: `greeter_${by}`, definition: { model, description: "Greets.", tools: [] } })
  const agent = { kind: "agent", agent: `greeter_${by}` }
  await rpc("WorkflowService/CreateWorkflow", { workflowName: `greet_${by}`, definition: {
    description: "Greets somebody.", inputSchema: formatOf({ name: { type: "string" } }, ["name"]),
    outputSchema: formatOf({ text: { type: "string" }, length: { type: "integer" } }, ["text", "length"]),
    steps: [
      { ...agent, id: "greet", input: { prompt: { expression: "'Greet ' + initData.name" } } },
      { id: "measured", kind: "map", input: { text: { step: "greet", path: "text" }, length: { expression: "size(steps.greet.text)" } } },
    ],
  } })
  await rpc("WorkflowService/CreateWorkflow", { workflowName: `slow_${by}`, definition: {
    description: "Never ends.", steps: [{ ...agent, id: "wait", input: { prompt: { value: `Wait for the run of ${by}.` } } }],
  } })
  await rpc("WorkflowService/CreateWorkflow", { workflowName: `publish_${by}`, definition: {
    description: "Asks before it publishes.", steps: [
      { id: "ask", kind: "wait", message: "Publish it?", schema: formatOf({ approved: { type: "boolean" } }, ["approved"]) },
      { id: "done", kind: "map", input: { published: { step: "ask", path: "approved" } } },
    ],
  } })
}

// underWay returns how many requests with a text the model is working on.
async function underWay(text) {
  return Number(await (await fetch(process.env.RAGD_MODEL_WATCH + "?text=" + encodeURIComponent(text))).text())
}

// cancel begins a call, cancels it when the model works on it, and waits until the model is told.
async function cancel(call, text) {
  const leaving = new AbortController()
  const ended = call({ signal: leaving.signal }).then((answer) => answer, () => "cancelled")
  await until(`"${text}" at the model`, async () => (await underWay(text)) === 1)
  leaving.abort()
  const answer = await ended
  check("a cancelled call", answer === "cancelled", answer)
  await until(`the end of "${text}" at the model`, async () => (await underWay(text)) === 0)
}

function rises(steps) {
  return steps.every((step, i) => i === 0 || step.progress > steps[i - 1].progress)
}

// useAgents asks agents and runs workflows whose names end in by. tools lists tools with their
// schemas, strangersTools the names of another tenant's. call calls a tool with options onprogress
// and signal and returns isError, text and structured. asking calls one with a client whose user
// answers forms by answer, and questions are the messages that the user has read.
export async function useAgents(by, { tools, strangersTools, call, asking }) {
  await define(by)
  const named = Object.fromEntries((await tools()).map((t) => [t.name, t]))
  for (const name of [`ask_keeper_${by}`, `run_greet_${by}`, "resume_run"]) check(`the tool ${name}`, named[name], Object.keys(named))
  check("the other tenant's tools", !(await strangersTools()).some((name) => name.endsWith(`_${by}`)), by)
  const ask = named[`ask_keeper_${by}`], run = named[`run_greet_${by}`]
  check("what an agent takes", JSON.stringify(ask.inputSchema).includes('"message"'), ask.inputSchema)
  check("what a workflow takes", JSON.stringify(run.inputSchema).includes('"name"'), run.inputSchema)
  if (ask.outputSchema) { // not every client has them
    check("what an agent returns", ask.outputSchema.properties.citations.type === "array", ask.outputSchema)
    check("what a workflow returns", run.outputSchema.properties.length.type === "integer", run.outputSchema)
  }
  await useAgent(by, call)
  await useWorkflow(by, call)
  await useForms(by, call, asking)
}

async function useAgent(by, call) {
  const steps = [], name = `ask_keeper_${by}`
  const { structured, text } = await call(name, { message: question.queryText }, { onprogress: (p) => steps.push(p) })
  check("answer", structured.text === "With whale oil [1]." && text.includes("[1]"), [structured, text])
  const [citation] = structured.citations
  check("citation", citation.uri === "lighthouse.md" && citation.number === 1 && citation.text.includes("whale oil") && citation.endByte > citation.startByte, structured)
  check("usage", structured.usage.steps === 2 && structured.usage.toolCalls === 1 && structured.usage.outputTokens > 0, structured)
  await until("the progress of an answer", () => steps.length >= 4)
  check("progress", rises(steps) && steps.some((s) => s.message === "Calls vector_query."), steps)

  const wrong = await call(name, {})
  check("no message", wrong.isError && wrong.text.includes("message"), wrong)
  await call(name, { message: "My name is Ada.", threadId: `talk-${by}` })
  const again = await call(name, { message: "What is my name?", threadId: `talk-${by}` })
  check("conversation", again.structured.text === "Your name is Ada.", again)
  const alone = await call(name, { message: "What is my name?" })
  check("a question of its own", alone.structured.text === "I do not know.", alone)
  const { threads } = await rpc("AgentService/ListThreads", { agentName: `keeper_${by}` })
  check("threads", threads.length === 1 && threads[0].threadId === `talk-${by}`, threads)
  await cancel((options) => call(name, { message: `Wait for the answer of ${by}.` }, options), `Wait for the answer of ${by}.`)
}

async function useWorkflow(by, call) {
  const steps = []
  const greeted = await call(`run_greet_${by}`, { name: "Ada" }, { onprogress: (p) => steps.push(p) })
  check("result", greeted.structured.text === "Hello, Ada!" && greeted.structured.length === 11, greeted)
  await until("the progress of a run", () => steps.some((s) => s.message === "Step measured has succeeded."))
  check("progress", rises(steps) && steps.some((s) => s.message === "Step greet has succeeded."), steps)
  const wrong = await call(`run_greet_${by}`, { name: 7 })
  check("input of the wrong type", wrong.isError && wrong.text.includes("name"), wrong)
  await cancel((options) => call(`run_slow_${by}`, {}, options), `Wait for the run of ${by}.`)
  await until("the end of the run", async () => {
    const { runs } = await rpc("WorkflowService/ListRuns", { workflowName: `slow_${by}` })
    return runs[0].status === "cancelled"
  })
}

async function useForms(by, call, asking) {
  const name = `run_publish_${by}`
  const waits = async (call) => {
    const { structured, text } = await call(name, {})
    check("a run that waits", structured.status === "waiting" && structured.message === "Publish it?" && text.includes("resume_run"), [structured, text])
    return structured.runId
  }
  const runId = await waits(call)
  const wrong = await call("resume_run", { runId, data: { approved: "no" } })
  check("data of the wrong type", wrong.isError && wrong.text.includes("approved"), wrong)
  const resumed = await call("resume_run", { runId, data: { approved: false } })
  check("resumed", resumed.structured.published === false, resumed)

  asking.answer = { action: "accept", content: { approved: true } }
  const approved = await asking.call(name, {})
  check("approved", approved.structured.published === true && asking.questions.includes("Publish it?"), [approved, asking.questions])
  asking.answer = { action: "decline" }
  await waits(asking.call)

  asking.answer = { action: "accept", content: { indexName: "docs" } } // the tenant has several
  const found = await asking.call("list_documents", {})
  check("the index that the user chose", found.text.includes("lighthouse.md") && asking.questions.length === 3, [found, asking.questions])
}

// resultOf returns what call returns of a result of the TypeScript SDK.
export function resultOf(answer) {
  return { isError: answer.isError ?? false, text: answer.content[0].text, structured: answer.structuredContent }
}

// useTemplates reads a document's chunk by a template, and completes one.
export async function useTemplates(client) {
  const { resourceTemplates } = await client.listResourceTemplates()
  const uriTemplate = "ragd://indexes/{index}"
  check("templates", resourceTemplates.some((t) => t.uriTemplate === uriTemplate), resourceTemplates)
  const { completion } = await client.complete({ ref: { type: "ref/resource", uri: uriTemplate }, argument: { name: "index", value: "doc" } })
  check("completion of a template", completion.values.join() === "docs", completion)
  const read = await client.readResource({ uri: uriTemplate.replace("{index}", completion.values[0]) })
  check("a resource of a template", read.contents[0].text.includes(`"docs"`), read)
}
