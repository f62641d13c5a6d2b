import assert from "node:assert/strict";
import { test } from "node:test";
import { Ragd, RagdError } from "@ragd/client";
import { AgentService, ContextService, TenantService, VectorService } from "@ragd/client/api";
import { connect, newIndex, proxy } from "./service.mjs";

/** refuse answers a request with an error of the Connect protocol. */
function refuse(response, status, code, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify({ code, message: "try again" }));
  return true;
}

test("errors carry code, fields, request id and the cause", async (t) => {
  const index = await newIndex(t);
  await assert.rejects(index.query("gate", { topK: 5000, headers: { "X-Request-Id": "ask-17" } }), (error) => {
    assert.ok(error instanceof RagdError);
    assert.equal(error.code, "invalid_argument");
    assert.deepEqual(error.fieldViolations.map(({ field }) => field), ["topK"]);
    assert.match(error.message, /topK: must be between 1 and 1000, got 5000/);
    assert.match(error.requestId, /./);
    assert.equal(error.retryAfter, undefined);
    return true;
  });
  await assert.rejects(index.query("gate", { filter: { team: { $nope: 1 } } }), { code: "invalid_argument" });
  await assert.rejects(connect().index("nowhere").query("gate"), { code: "not_found" });
  await assert.rejects(connect({ apiKey: "ragd_wrong" }).index("x").query("gate"), { code: "unauthenticated" });
  await assert.rejects(connect().ask("nobody", "who?").final(), { code: "not_found" });
});

test("sources show their section, and are judged", async (t) => {
  const index = await newIndex(t);
  await index.upload("# Gate\n\nThe gate opens two hours before high water. The keeper is Mara Holt.\n", { uri: "gate.md" });
  const found = await index.query("who is the keeper?", { expand: "section" });
  const [source] = found.sources;
  assert.equal(source.hits[0].id, source.id);
  assert.match(source.document, /high water/);
  const recorded = await index.feedback(found.queryId, source.id, true);
  assert.equal(recorded.setName, `feedback-${index.name}`);
  await index.feedback(found.queryId, source.id, undefined);
  await assert.rejects(index.feedback("nothing", source.id, false), (error) => error.fieldViolations[0].field === "queryId");
});

test("several indexes and several questions are asked", async (t) => {
  const index = await newIndex(t);
  await index.upload("# Gate\n\nThe gate opens two hours before high water.\n", { uri: "gate.md" });
  const found = await connect().query("when does the gate open?", { indexNames: [`${index.name.slice(0, -1)}*`] });
  assert.equal(found.sources[0].indexName, index.name);
  assert.match(found.queryId, /./);
  const walked = await connect().graph("when does the gate open?", { indexNames: [`${index.name.slice(0, -1)}*`] });
  assert.equal(walked.sources[0].indexName, index.name);
  const like = await index.query("", { like: { positive: [{ text: "a gate that opens" }], exclude: [{ uri: "gate.md" }] } });
  assert.deepEqual(like.sources, []);
  assert.deepEqual((await index.query("gate -opens", { syntax: "web" })).sources, []);
  const [first, second] = await connect().batch([{ indexName: index.name, queryText: "gate" }, { indexName: "none", queryText: "gate" }]);
  assert.equal(first.answer.sources[0].uri, "gate.md");
  assert.equal(second.error.code, "not_found");
});

test("answers and texts keep to a budget", async (t) => {
  const index = await newIndex(t);
  await index.upload(Array.from({ length: 500 }, (_, day) => `On day ${day} the gate opens at dawn. `).join(""), { uri: "long.md" });
  const found = await index.query("when does the gate open?", { maxTokens: 600 });
  assert.ok(found.budget.usedTokens > 0 && found.budget.usedTokens <= 600 && found.budget.omittedTokens > 0);
  const walked = await index.graph("when does the gate open?", { maxTokens: 600, encodingName: "o200k_base" });
  assert.equal(walked.budget.encodingName, "o200k_base");
  const part = await index.read({ uri: "long.md" }, { maxTokens: 600 });
  assert.match(part.text, /dawn\.$/);
  const next = await index.read({ uri: "long.md" }, { startByte: part.endByte, maxTokens: 600 });
  assert.match(next.text, /^ On day/);
});

test("settings that cannot work are refused at once", () => {
  assert.throws(() => new Ragd({ url: "" }), { code: "invalid_argument" });
  assert.throws(() => new Ragd({}), { code: "invalid_argument" });
  assert.throws(() => connect().index(""), { code: "invalid_argument" });
});

test("a service that is not there is unavailable, after repetitions", async () => {
  const nobody = connect({ url: "http://127.0.0.1:9", retry: { maxRetries: 2, initialDelayMs: 1 } });
  await assert.rejects(nobody.index("x").query("gate"), (error) => {
    assert.equal(error.code, "unavailable");
    assert.match(error.message, /cannot reach http:\/\/127\.0\.0\.1:9/);
    return true;
  });
});

test("calls that may be made twice are repeated", async (t) => {
  const index = await newIndex(t);
  const front = await proxy(t, (_, response, number) => number <= 2 && refuse(response, 503, "unavailable"));
  const through = connect({ url: `${front.url}/`, retry: { initialDelayMs: 1 } }).index(index.name);
  await through.query("gate");
  assert.equal(front.requests.length, 3);
  front.requests.length = 0;
  await through.upload("The gate opens.", { uri: "a.md", wait: false });
  assert.deepEqual(front.requests, Array(3).fill("/ragd.v1.DocumentService/UploadDocument"));
});

test("repetitions wait as long as the service asks", async (t) => {
  const index = await newIndex(t);
  const times = [];
  const front = await proxy(t, (_, response, number) => {
    times.push(performance.now());
    return number === 1 && refuse(response, 429, "resource_exhausted", { "Retry-After": "1" });
  });
  await connect({ url: front.url, retry: { initialDelayMs: 1 } }).index(index.name).query("gate");
  assert.equal(times.length, 2);
  assert.ok(times[1] - times[0] >= 1000, `${times[1] - times[0]} ms`);
});

test("what would do harm when made twice has a key, and what would have to wait too long is not repeated", async (t) => {
  const answers = [
    [503, "unavailable"],
    [429, "resource_exhausted"],
    [429, "resource_exhausted", { "Retry-After": "3600" }],
    [400, "failed_precondition"],
  ];
  let answer;
  let keys = [];
  const front = await proxy(t, (request, response) => {
    keys.push(request.headers["idempotency-key"]);
    return refuse(response, ...answer);
  });
  const client = connect({ url: front.url, retry: { initialDelayMs: 1 } });
  const attempts = async (call, keyed = false) => {
    front.requests.length = 0;
    keys = [];
    await assert.rejects(call());
    assert.equal(new Set(keys).size, 1);
    assert.equal(keys[0] !== undefined, keyed);
    return front.requests.length;
  };
  answer = answers[0];
  assert.equal(await attempts(() => client.callTool("vector_query"), true), 5);
  assert.equal(await attempts(() => client.rpc(AgentService).askAgent({ agentName: "a", message: "m" }), true), 5);
  assert.equal(await attempts(() => client.rpc(VectorService).upsert({ indexName: "i", entries: [{ values: [1] }] }), true), 5);
  assert.equal(await attempts(() => client.rpc(VectorService).upsert({ indexName: "i", entries: [{ id: "1", values: [1] }] })), 5);
  await attempts(() => client.callTool("vector_query", {}, { idempotencyKey: "mine" }), true);
  assert.equal(keys[0], "mine");
  const once = connect({ url: front.url, retry: { maxRetries: 0 } });
  assert.equal(await attempts(() => once.callTool("vector_query")), 1);
  for (answer of answers.slice(1)) assert.equal(await attempts(() => client.index("i").query("gate")), 1, answer.join());
  answer = answers[2];
  await assert.rejects(client.index("i").query("gate"), { retryAfter: 3600 });
});

test("a call ends with its signal and its time", async (t) => {
  const front = await proxy(t, () => new Promise((resolve) => setTimeout(resolve, 60_000, true).unref()));
  const client = connect({ url: front.url });
  const reason = new Error("enough");
  const stop = new AbortController();
  setTimeout(() => stop.abort(reason), 20);
  await assert.rejects(client.index("x").query("gate", { signal: stop.signal }), reason);
  await assert.rejects(client.index("x").query("gate", { signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(client.ask("a", "q", { signal: AbortSignal.abort(reason) }).final(), reason);
  await assert.rejects(client.index("x").query("gate", { timeoutMs: 20 }), { code: "deadline_exceeded" });
  await assert.rejects(connect({ url: front.url, timeoutMs: 20 }).index("x").query("gate"), { code: "deadline_exceeded" });
});

test("the request context of client and call are merged", async (t) => {
  const client = connect({ context: { topK: 1 } });
  const index = await newIndex(t, client);
  for (const name of ["a", "b", "c"]) await index.upload(`The gate ${name} opens.`, { uri: `${name}.md`, metadata: { name: `${name}-grün` } });
  assert.equal((await index.query("gate")).sources.length, 1);
  assert.equal((await index.query("gate", { context: { topK: 2 } })).sources.length, 2);
  const { sources } = await index.query("gate", { context: { filter: { name: "c-grün" } } });
  assert.deepEqual(sources.map(({ uri }) => uri), ["c.md"]);
});

test("options of a search reach the service", async (t) => {
  const client = connect();
  const index = await newIndex(t, client);
  for (const name of ["a", "b", "c"]) await index.upload(`The gate ${name} opens at noon.`, { uri: `${name}.md`, namespace: "sea" });
  const options = { namespace: "sea", mode: "keyword", reranker: {}, topK: 2, explain: true, highlight: true, includeVectors: true };
  const { sources, explain } = await index.query("gate opens", options);
  assert.equal(sources.length, 2);
  assert.equal(explain.searchMode, "keyword");
  assert.equal(explain.reranking.kind, "lexical");
  assert.ok(sources[0].highlight.matches.length > 0 && sources[0].vector.length > 0 && sources[0].details);
  const [vector] = await client.embed(["The gate a opens at noon."]);
  const nearest = await index.query("", { vector, namespace: "sea", topK: 1 });
  assert.equal(nearest.sources[0].uri, "a.md");
  assert.deepEqual((await index.query("gate", { namespace: "sea", minScore: 2 })).sources, []);
});

test("the key may come from a function, and generated clients are at hand", async (t) => {
  let asked = 0;
  const client = connect({ apiKey: async () => (asked++, process.env.RAGD_API_KEY) });
  const index = await newIndex(t, client);
  const names = [];
  for await (const { indexName } of client.indexes()) names.push(indexName);
  assert.ok(names.includes(index.name));
  assert.ok(asked > 0);
  const { tenantId } = await client.rpc(TenantService).whoAmI({});
  assert.notEqual(tenantId, "");
  await assert.rejects(client.rpc(ContextService).getContextKey({ name: "nowhere" }), (error) => {
    assert.ok(!(error instanceof RagdError)); // that of @connectrpc/connect
    assert.equal(RagdError.from(error).code, "not_found");
    return true;
  });
});

test("tools are listed and called", async (t) => {
  const client = connect();
  const index = await newIndex(t, client);
  await index.upload("The gate opens at noon.", { uri: "a.md" });
  const tools = [];
  for await (const tool of client.tools()) tools.push(tool);
  assert.equal(tools.find(({ toolName }) => toolName === "vector_query").inputSchema.type, "object");
  const answer = await client.callTool("vector_query", { queryText: "gate", indexName: index.name });
  assert.match(answer.text, /noon/);
});
