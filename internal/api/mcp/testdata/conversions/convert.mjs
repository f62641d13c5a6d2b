// Sends the tools of the endpoint to models through the libraries of npm. The models are
// an HTTP server that keeps what it gets and answers with an error.
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createMCPClient } from "@ai-sdk/mcp"
import { createOpenAI } from "@ai-sdk/openai"
import { GoogleGenAI, mcpToTool } from "@google/genai"
import { MultiServerMCPClient } from "@langchain/mcp-adapters"
import { ChatGoogleGenerativeAI } from "@langchain/google-genai"
import { ChatOpenAI } from "@langchain/openai"
import { Agent } from "@mastra/core/agent"
import { MCPClient } from "@mastra/mcp"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { generateText } from "ai"

const url = process.env.RAGD_MCP_URL
const headers = { Authorization: `Bearer ${process.env.RAGD_KEY}` }
const prompt = "What is there?"
const apiKey = "none"

// ask runs what is expected to end with the models' error.
async function ask(name, run) {
  const baseURL = `${process.env.RAGD_MODELS_URL}/${encodeURIComponent(name)}`
  try {
    await run(baseURL)
  } catch (error) {
    if (!`${error?.message ?? error} ${error?.cause?.message ?? ""}`.includes("kept")) console.log(`${name}: ${error?.stack ?? error}`)
  }
}

const models = {
  OpenAI: (baseURL) => createOpenAI({ baseURL, apiKey })("gpt-5"),
  "OpenAI chat": (baseURL) => createOpenAI({ baseURL, apiKey }).chat("gpt-4.1"),
  Gemini: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey })("gemini-2.5-flash"),
  Anthropic: (baseURL) => createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5"),
}

const aiSDK = await createMCPClient({ transport: { type: "http", url, headers } })
const aiTools = await aiSDK.tools()
for (const [provider, model] of Object.entries(models)) {
  await ask(`AI SDK, ${provider}`, (base) => generateText({ model: model(base), tools: aiTools, prompt, maxRetries: 0 }))
}
await aiSDK.close()

const mastra = new MCPClient({ servers: { r: { url: new URL(url), requestInit: { headers } } } })
const mastraTools = Object.fromEntries(Object.entries(await mastra.listTools()).map(([name, tool]) => [name.replace(/^r_/, ""), tool]))
for (const [provider, model] of Object.entries(models)) {
  await ask(`Mastra, ${provider}`, async (base) => {
    const agent = new Agent({ id: "a", name: "a", instructions: "Answer.", model: model(base), tools: mastraTools, maxRetries: 0 })
    await agent.generate(prompt, { maxSteps: 1, modelSettings: { maxRetries: 0 } })
  })
}
await mastra.disconnect()

const langchain = new MultiServerMCPClient({ mcpServers: { r: { transport: "http", url, headers } }, throwOnLoadError: true, prefixToolNameWithServerName: false })
const chainTools = await langchain.getTools()
await ask("LangChain.js, OpenAI", (base) =>
  new ChatOpenAI({ model: "gpt-4.1", apiKey, maxRetries: 0, configuration: { baseURL: base } }).bindTools(chainTools).invoke(prompt))
await ask("LangChain.js, Gemini", (base) =>
  new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey, maxRetries: 0, baseUrl: base }).bindTools(chainTools).invoke(prompt))
await langchain.close()

const client = new Client({ name: "conversions", version: "1" })
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
await ask("Google Gen AI for JavaScript", (base) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: base, retryOptions: { attempts: 1 } } }).models.generateContent({
    model: "gemini-2.5-flash", contents: prompt, config: { tools: [mcpToTool(client)] },
  }))
await client.close()
process.exit(0) // some clients keep timers
