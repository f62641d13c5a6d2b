// OpenAI's and Cohere's packages for TypeScript against the OpenAI-compatible interface.
import assert from "node:assert/strict";
import { test } from "node:test";

import { CohereClientV2 } from "cohere-ai";
import OpenAI, { toFile } from "openai";

const server = process.env.RAGD_SERVER!;
const apiKey = process.env.RAGD_API_KEY!;
const client = new OpenAI({ baseURL: `${server}/v1`, apiKey });

test("embeddings", async () => {
  const made = await client.embeddings.create({ model: "builtin/hash-512", input: ["one text", "another text"] });
  assert.deepEqual(made.data.map((e) => e.embedding.length), [512, 512]);
  const plain = await client.embeddings.create({ model: "builtin/hash-512", input: "one text", encoding_format: "float" });
  for (const [i, value] of plain.data[0]!.embedding.entries()) {
    assert.ok(Math.abs(value - made.data[0]!.embedding[i]!) < 1e-6);
  }
});

test("models by page", async () => {
  const names: string[] = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.ok(names.includes("builtin/hash-512"));
});

test("files, a vector store and a search", async () => {
  const store = await client.vectorStores.create({ name: "Harbour" });
  const texts = { "tide.md": "The tide turns at noon.", "berth.md": "Berth nine is for ferries." };
  const files = await Promise.all(Object.entries(texts).map(([name, text]) => toFile(Buffer.from(text), name)));
  const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files }, { pollIntervalMs: 200 });
  assert.equal(batch.status, "completed");
  assert.equal(batch.file_counts.completed, 2);
  const ids: string[] = [];
  for await (const file of client.vectorStores.files.list(store.id, { limit: 1 })) ids.push(file.id);
  assert.equal(ids.length, 2);
  const found = await client.vectorStores.search(store.id, { query: "When does the tide turn?", max_num_results: 1 });
  assert.equal(found.data[0]!.filename, "tide.md");
  assert.equal(found.data[0]!.content[0]!.text, texts["tide.md"]);
  const content = await client.files.content(ids[0]!);
  assert.ok(Object.values(texts).includes(await content.text()));
  await client.vectorStores.delete(store.id);
  for (const id of ids) await client.files.delete(id);
});

test("chat completions and responses", async () => {
  const store = await client.vectorStores.create({ name: "Quay" });
  const file = await toFile(Buffer.from("The crane of the quay lifts forty tons. It was built in 1936."), "crane.md");
  await client.vectorStores.files.uploadAndPoll(store.id, file, { pollIntervalMs: 200 });
  const question = "How many tons does the crane of the quay lift?";
  const index = store.id.replace(/^vs_/, "");

  const stream = client.chat.completions.stream({ model: `passages/${index}`, messages: [{ role: "user", content: question }] });
  let streamed = "";
  stream.on("content", (piece) => { streamed += piece; });
  const whole = await stream.finalChatCompletion();
  assert.ok(streamed.startsWith("The crane of the quay lifts forty tons."));
  assert.equal(whole.choices[0]!.message.content, streamed);
  assert.equal(whole.choices[0]!.finish_reason, "stop");

  const answer = await client.responses.create({ model: "passages", input: question, tools: [{ type: "file_search", vector_store_ids: [store.id] }] });
  assert.ok(answer.output_text.startsWith("The crane of the quay lifts forty tons."));

  const agent = `agent/${process.env.RAGD_TEST_AGENT}`;
  const events: string[] = [];
  for await (const event of await client.responses.create({ model: agent, input: `${question} Look in the index ${index}`, stream: true })) {
    events.push(event.type);
    if (event.type === "response.completed") assert.equal(event.response.output[0]!.type, "message");
  }
  assert.equal(events[0], "response.created");
  assert.equal(events.at(-1), "response.completed");
  await assert.rejects(client.chat.completions.create({ model: "agent/nobody", messages: [{ role: "user", content: "?" }] }), OpenAI.NotFoundError);
  await client.vectorStores.delete(store.id);
});

test("errors", async () => {
  await assert.rejects(client.vectorStores.retrieve("vs_none"), OpenAI.NotFoundError);
  await assert.rejects(client.embeddings.create({ model: "builtin/none", input: "x" }), (error: unknown) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "model");
    return true;
  });
  const wrong = new OpenAI({ baseURL: `${server}/v1`, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(wrong.models.list(), OpenAI.AuthenticationError);
});

test("rerank", async () => {
  const cohere = new CohereClientV2({ token: apiKey, environment: server });
  const documents = ["Trains leave at noon.", "Everybody has thirty days of leave."];
  const made = await cohere.rerank({ model: "builtin/lexical", query: "how many days of leave", documents, topN: 1 });
  assert.deepEqual(made.results.map((r) => r.index), [1]);
});
