import assert from "node:assert/strict";
import { test } from "node:test";
import { agentTool, answerStream, graphTool, queryTool, ragdTools } from "@ragd/ai-sdk";
import { createUIMessageStreamResponse, generateText, readUIMessageStream, stepCountIs, streamText } from "ai";
import { modelThat, shown } from "./model.mjs";
import { agent, client, harbour } from "./service.mjs";

const stopWhen = stepCountIs(3);

test("a model searches an index and is shown the passages", async (t) => {
  const index = await harbour(t);
  const model = modelThat("search", { query: "when does the gate open?", topK: 2 });
  const { text, steps } = await generateText({ model, tools: { search: queryTool(index) }, prompt: "When does the gate open?", stopWhen });
  assert.equal(text, "Two hours before high water.");
  const { output } = steps[0].toolResults[0];
  assert.equal(output.passages.length, 2);
  assert.deepEqual(Object.keys(output.passages[0]).sort(), ["id", "metadata", "score", "text", "title", "uri"]);
  assert.equal(shown(model).type, "text");
  assert.equal(shown(model).value, output.context);
  assert.match(shown(model).value, /two hours before high water/);
  const [{ inputSchema, description }] = model.doGenerateCalls[0].tools;
  assert.deepEqual(Object.keys(inputSchema.properties), ["query", "topK"]);
  assert.match(description, /passages/);
});

test("a filter of the program holds beside that of the model", async (t) => {
  const index = await harbour(t);
  const find = async (settings, input) => {
    const model = modelThat("search", { query: "gate", topK: 10, ...input });
    const { steps } = await generateText({ model, tools: { search: queryTool(index, settings) }, prompt: "?", stopWhen });
    return steps[0].toolResults[0]?.output.passages.map(({ uri }) => uri).sort();
  };
  const filter = { team: "harbour" };
  assert.deepEqual(await find({ filter }, {}), ["ferry.md", "tides.md"]);
  assert.deepEqual(await find({ filter, modelFilter: true }, { filter: { year: 2025 } }), ["ferry.md"]);
  assert.deepEqual(await find({ filter, modelFilter: true }, { filter: { team: "kitchen" } }), []);
  assert.deepEqual(await find({ modelFilter: true }, { filter: { team: "kitchen" } }), ["canteen.md"]);
  assert.deepEqual(await find({ filter }, { filter: { team: "kitchen" } }), ["ferry.md", "tides.md"]);
});

test("a model is told that nothing was found, and why a search failed", async (t) => {
  const index = await harbour(t);
  let model = modelThat("search", { query: "gate" });
  await generateText({ model, tools: { search: queryTool(index, { filter: { team: "nobody" } }) }, prompt: "?", stopWhen });
  assert.equal(shown(model).value, "Nothing was found.");
  model = modelThat("search", { query: "gate" });
  await generateText({ model, tools: { search: queryTool(client.index("nowhere")) }, prompt: "?", stopWhen });
  assert.equal(shown(model).type, "error-text");
  assert.match(shown(model).value, /nowhere/);
});

test("a model walks the graph while its answer is streamed", async (t) => {
  const index = await harbour(t);
  const model = modelThat("graph", { query: "where does the ferry wait?" });
  const result = streamText({ model, tools: { graph: graphTool(index, { topK: 3 }) }, prompt: "?", stopWhen });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  assert.equal(text, "Two hours before high water.");
  const [{ output }] = (await result.steps)[0].toolResults;
  assert.equal(output.passages[0].uri, "ferry.md");
  assert.match(shown(model).value, /waits at lock L-17/);
});

test("a model asks an agent, whose answer arrives in pieces", async (t) => {
  const index = await harbour(t);
  const model = modelThat("ask", { question: `How many hours before high water, by the index ${index.name}?` });
  const result = streamText({ model, tools: { ask: agentTool(client, agent) }, prompt: "?", stopWhen });
  const results = [];
  for await (const part of result.stream ?? result.fullStream) if (part.type === "tool-result") results.push(part);
  assert.ok(results.length >= 2, `${results.length} results`);
  assert.ok(results.slice(0, -1).every(({ preliminary }) => preliminary) && !results.at(-1).preliminary);
  const { output } = results.at(-1);
  assert.notEqual(output.text, "");
  assert.equal(output.citations[0].uri, "tides.md");
  assert.ok(shown(model).value.startsWith(output.text));
  assert.match(shown(model).value, /\[1\] tides\.md/);
});

test("the tools of the tenant have their schemas", async (t) => {
  const index = await harbour(t);
  const all = await ragdTools(client);
  assert.ok("vector_query" in all && "graph_rag" in all, Object.keys(all).join());
  assert.ok(!("upload_document" in all));
  const tools = await ragdTools(client, { names: ["vector_query"], context: { indexName: index.name, topK: 1 } });
  assert.deepEqual(Object.keys(tools), ["vector_query"]);
  const model = modelThat("vector_query", { queryText: "how many hours before high water?" });
  const { steps } = await generateText({ model, tools, prompt: "?", stopWhen });
  const { output } = steps[0].toolResults[0];
  assert.equal(output.structured.sources.length, 1);
  assert.equal(shown(model).value, output.text);
  assert.match(output.text, /two hours/);
  assert.ok("queryText" in model.doGenerateCalls[0].tools[0].inputSchema.properties);
  await assert.rejects(ragdTools(client, { names: ["nothing"] }), /nothing/);
});

test("an agent's answer is a message for a page", async (t) => {
  const index = await harbour(t);
  const question = `How many hours before high water, by the index ${index.name}?`;
  let message;
  for await (message of readUIMessageStream({ stream: answerStream(client.ask(agent, question)) }));
  const kinds = message.parts.map(({ type }) => type);
  assert.ok(kinds.includes("step-start") && kinds.includes("dynamic-tool") && kinds.includes("text") && kinds.includes("source-document"), kinds.join());
  const call = message.parts.find(({ type }) => type === "dynamic-tool");
  assert.equal(call.toolName, "vector_query");
  assert.equal(call.state, "output-available");
  const final = await client.ask(agent, question).final();
  assert.equal(message.parts.findLast(({ type }) => type === "text").text, final.text);
  assert.equal(message.parts.find(({ type }) => type === "source-document").filename, "tides.md");

  const response = createUIMessageStreamResponse({ stream: answerStream(client.ask(agent, question)) });
  assert.match(await response.text(), /"type":"text-delta"/);
});

test("an agent that does not exist is an error of the message", async () => {
  const errors = [];
  const stream = answerStream(client.ask("nobody", "who?"));
  for await (const _ of readUIMessageStream({ stream, onError: (error) => errors.push(error) }));
  assert.match(String(errors[0]), /nobody/);
});

test("a call ends with its signal", async (t) => {
  const index = await harbour(t);
  const { execute } = queryTool(index);
  const reason = new Error("enough");
  await assert.rejects(async () => execute({ query: "gate" }, { toolCallId: "1", messages: [], abortSignal: AbortSignal.abort(reason) }), reason);
});
