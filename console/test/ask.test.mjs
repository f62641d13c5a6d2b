import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

/** harbour returns a tenant with documents that have metadata. */
async function harbour() {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const { job } = await tenant.call("DocumentService/UploadDocument", { indexName: "docs", uri: "fees.md", text: "# Fees\n\nThe fee for the gate is 12 crowns.", metadata: { team: "office", year: 2026 } });
  while ((await tenant.call("DocumentService/GetJob", { jobId: job.jobId })).status !== "succeeded") await new Promise((r) => setTimeout(r, 50));
  return tenant;
}

test("a question finds its passage, with scores, terms, times and the plan", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/ask" });
  await page.getByLabel("Question", { exact: true }).fill("when does the gate open?");
  await page.keyboard.press("Enter");
  const first = page.getByRole("article", { name: "Result 1" });
  await first.getByRole("link", { name: "Tides" }).waitFor();
  await first.locator("p mark", { hasText: "gate" }).first().waitFor();
  assert.match(page.url(), /question=when\+does/);
  await accessible(page);

  const why = first.getByRole("button", { name: "Why this result" });
  await why.focus();
  const reasons = page.getByRole("tooltip");
  await reasons.getByText("similarity").waitFor();
  assert.match(await reasons.innerText(), /Terms\s+gate/);
  await accessible(page);
  await page.keyboard.press("Tab");
  await reasons.waitFor({ state: "detached" });
  await why.hover();
  await reasons.waitFor();
  await page.mouse.move(0, 0);
  await reasons.waitFor({ state: "detached" });

  await page.getByText("How it was found").click();
  await page.getByText("Chunks examined").waitFor();
  await accessible(page);

  await first.getByRole("link", { name: "Tides" }).click();
  await page.getByRole("heading", { name: "Chunk 0" }).waitFor();
});

test("conditions over known fields make a filter", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=gate", scheme: "dark", width: 390 });
  await page.getByRole("article", { name: "Result 2" }).waitFor();
  const settings = page.getByRole("button", { name: /^Settings/ });
  assert.match(await settings.innerText(), /Default search, 10 results/);
  await settings.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Add a condition" }).click();
  await page.getByRole("combobox", { name: "Field 1" }).click();
  await page.getByRole("option", { name: "team" }).click();
  await page.getByRole("combobox", { name: "Value 1" }).click();
  await page.getByRole("option", { name: "office" }).click();
  await page.getByRole("status").getByText("1 result in").waitFor();
  await accessible(page);
  assert.match(await settings.innerText(), /where team is office/);
  await page.getByRole("button", { name: "As JSON" }).click();
  assert.deepEqual(JSON.parse(await page.getByLabel("Filter as JSON").inputValue()), { team: { $eq: "office" } });
  await page.getByLabel("Filter as JSON").fill("{team}");
  await page.getByRole("alert").getByText("not a JSON object").waitFor();
});

for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  test(`two settings are shown with what has moved, ${width} pixels wide`, async (t) => {
    const tenant = await harbour();
    const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=ships+gate&compare=1&mode=keyword&b.mode=graph&b.rerank=lexical", width, scheme });
    const moves = page.getByRole("region", { name: "From A to B" });
    await moves.getByRole("status").getByText(/of \d results of A are results of B/).waitFor();
    assert.ok(await moves.getByRole("list", { name: "Results of A" }).getByRole("listitem").count() > 1);
    assert.ok(await moves.locator("path").count() > 1, "no lines are drawn");
    await page.getByRole("button", { name: /^Settings A: Keyword search/ }).waitFor();
    await page.getByRole("button", { name: /^Settings B: Walk through the graph, 10 results, reranker lexical/ }).waitFor();
    await page.getByRole("link", { name: "Draw the walk" }).waitFor();
    const why = page.getByRole("region", { name: "Answer B" }).getByRole("button", { name: "Why this result" }).first();
    await why.focus();
    await page.getByRole("tooltip").getByText("Way through the graph").waitFor();
    await page.getByRole("tooltip").getByText("reranker", { exact: true }).waitFor();
    await accessible(page);
  });
}

test("all indexes are asked at once", async (t) => {
  const tenant = await harbour();
  await upload(tenant, "ferries", { "ferry.md": "# Ferries\n\nThe ferry leaves the waiting pier at noon.\n" });
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=ferry", width: 390 });
  await page.getByRole("combobox", { name: "Index" }).click();
  await page.getByRole("option", { name: "All indexes" }).click();
  const first = page.getByRole("article", { name: "Result 1", exact: true });
  await first.getByText("in ferries").waitFor();
  assert.equal(await page.getByRole("button", { name: "No document answers it" }).count(), 0);
  await first.getByRole("link", { name: "Ferries" }).click();
  await page.waitForURL(/\/indexes\/ferries\/documents\//);
});

test("some indexes and patterns are asked, and facets filter what is found", async (t) => {
  const tenant = await harbour();
  await tenant.call("IndexService/CreateIndex", { indexName: "team-sea" });
  await tenant.call("IndexService/CreateIndex", { indexName: "other" });
  for (const [uri, year] of [["a.md", 2025], ["b.md", 2026], ["c.md", 2026]]) {
    const { job } = await tenant.call("DocumentService/UploadDocument", { indexName: "team-sea", uri, text: `Notes on the gate, ${uri}.`, metadata: { team: "sea", year } });
    while ((await tenant.call("DocumentService/GetJob", { jobId: job.jobId })).status !== "succeeded") await new Promise((r) => setTimeout(r, 50));
  }
  for (const width of [1280, 390]) {
    const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=gate", width });
    await page.getByRole("combobox", { name: "Index" }).fill("team-*");
    await page.keyboard.press("Enter");
    const facets = page.getByRole("complementary", { name: "Facets" });
    if (width < 1000) await facets.getByText(/^Facets of/).click();
    const value = (name) => facets.getByRole("checkbox", { name });
    await value("sea 3").waitFor();
    await value("2026 3").waitFor(); // one in docs, two in team-sea
    await accessible(page);
    await value("office 1").click();
    await page.getByRole("status").getByText("1 result in").waitFor();
    await page.getByRole("article", { name: "Result 1" }).getByText("in docs").waitFor();
    await value("sea 3").click(); // the other values stay
    await page.getByRole("status").getByText("4 results in").waitFor();
    await value("2025 1").click();
    await page.getByRole("status").getByText("1 result in").waitFor();
    assert.deepEqual(JSON.parse(new URL(page.url()).searchParams.get("filter")), { team: { $in: ["office", "sea"] }, year: { $eq: 2025 } });
    await value("2025 1").click();
    await page.getByRole("status").getByText("4 results in").waitFor();
  }
});

test("two ranking profiles are compared", async (t) => {
  const tenant = await harbour();
  await tenant.call("IndexService/CreateRankingProfile", { indexName: "docs", profileName: "fees", ranking: { boosts: [{ filter: { team: "office" }, weight: 1 }] } });
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=when+does+the+gate+open" });
  await page.getByRole("article", { name: "Result 1" }).waitFor();
  await page.getByRole("button", { name: "Compare ranking profiles" }).click();
  await page.getByRole("button", { name: /^Settings A: .*no ranking profile/ }).waitFor();
  await page.getByRole("button", { name: /^Settings B: .*ranking profile fees/ }).waitFor();
  const moves = page.getByRole("region", { name: "From A to B" });
  await moves.getByText("of them moved").waitFor();
  await accessible(page);
  await moves.getByRole("link", { name: "Measure both profiles" }).click();
  await page.getByRole("heading", { name: "Evaluate" }).first().waitFor();
});

test("the copied command finds the same", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: `/ask?index=docs&question=${encodeURIComponent("what's the gate's fee?")}&filter=${encodeURIComponent('{"team":"office"}')}` });
  await page.getByRole("article", { name: "Result 1" }).waitFor();
  await page.getByRole("button", { name: "Copy as" }).click();
  const panel = page.getByRole("tabpanel").locator("pre");
  const env = { ...process.env, RAGD_API_KEY: tenant.secret };
  const curl = JSON.parse(execFileSync("sh", ["-c", (await panel.textContent()).replace("curl", "curl -sS")], { env, encoding: "utf8" }));
  assert.deepEqual(curl.sources.map((s) => s.uri), ["fees.md"]);
  await page.getByRole("tab", { name: "TypeScript" }).click();
  assert.match(execFileSync(process.execPath, ["--input-type=module", "-e", await panel.textContent()], { env, encoding: "utf8" }), /fees\.md/);
  await page.getByRole("tab", { name: "Python" }).click();
  assert.match(execFileSync("python3", ["-c", await panel.textContent()], { env, encoding: "utf8" }), /fees\.md/);
  await page.getByRole("tab", { name: "MCP call" }).click();
  const mcp = JSON.parse(await panel.textContent());
  assert.deepEqual([mcp.params.name, mcp.params.arguments.filter], ["vector_query", { team: "office" }]);
  await accessible(page);
});

test("a thumb is feedback, and the same thumb again takes it back", async (t) => {
  const [tenant, other] = [await harbour(), await harbour()];
  const secret = await tenant.key({ scopes: ["read"] }); // who may read may judge
  const path = "/ask?index=docs&question=when+does+the+gate+open";
  const page = await openPage(t, { key: secret, path });
  const relevant = async () => ((await tenant.call("EvaluateService/ListQuestions", { setName: "feedback-docs" })).questions ?? []).map((q) => [q.text, q.relevant.length]);
  const thumb = (rank, name, pressed) => page.getByRole("article", { name: `Result ${rank}` }).getByRole("button", { name, pressed });
  const [up, down] = ["It answers the question", "It does not answer the question"];
  await thumb(1, up).click();
  await page.getByText("Saved in feedback-docs: the passage answers").waitFor();
  assert.deepEqual(await relevant(), [["when does the gate open", 1]]);
  await thumb(2, down).click();
  await page.getByText("the passage does not answer").waitFor();
  assert.deepEqual(await relevant(), [["when does the gate open", 1]]);
  await accessible(page);

  await page.reload();
  await thumb(2, down, true).waitFor();
  await thumb(1, up, true).click();
  await page.getByText("Taken back.").waitFor();
  assert.deepEqual(await relevant(), []);
  await thumb(1, up, false).waitFor();
  assert.equal(await page.getByRole("button", { name: "No document answers it" }).count(), 0); // which changes a question set

  await page.getByRole("button", { name: "Your access" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByLabel("API key").fill(other.secret); // nobody of another tenant sees it
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "docs", exact: true }).waitFor();
  await page.goto(process.env.RAGD_TEST_URL + path);
  await thumb(2, down, false).waitFor();
});

test("a question that no document answers is saved for evaluations", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=who+paints+the+boats" });
  const button = (pressed) => page.getByRole("button", { name: "No document answers it", pressed });
  const saved = async () => ((await tenant.call("EvaluateService/ListQuestions", { setName: "unanswered-docs" })).questions ?? []).map((q) => [q.text, q.unanswerable]);
  await button(false).click();
  await button(true).waitFor();
  assert.deepEqual(await saved(), [["who paints the boats", true]]);
  await page.reload();
  await button(true).click();
  await button(false).waitFor();
  assert.deepEqual(await saved(), []);
});

test("an agent answers from the same box", async (t) => {
  const tenant = await harbour();
  await tenant.call("AgentService/CreateAgent", { agentName: "helper", definition: { description: "Answers questions.", model: "openai/gpt-5-mini", indexes: ["docs"] } });
  await fetch(`${process.env.RAGD_TEST_MODEL}/script`, { method: "PUT", body: JSON.stringify({ piece: "lock of the old sluice", answer: "It opens **twice** a day:\n\n| tide | hour |\n| --- | --- |\n| high | 6 |\n\n<img src=x onerror=\"window.executed=true\">" }) });
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs", width: 390, scheme: "dark" });
  await page.getByRole("combobox", { name: "Who answers" }).click();
  await page.getByRole("option", { name: "Let helper answer" }).click();
  await page.getByLabel("Question", { exact: true }).fill("when does the lock of the old sluice open?");
  await page.keyboard.press("Enter");
  const answer = page.getByRole("region", { name: "Answer of helper" });
  await answer.locator("strong", { hasText: "twice" }).waitFor();
  await answer.getByRole("cell", { name: "high" }).waitFor();
  await page.getByRole("article", { name: "Result 1" }).waitFor(); // the passages follow
  await answer.getByRole("button", { name: "Ask again" }).waitFor(); // the answer has ended: a reload would break it off
  await accessible(page);
  await harmless(page);
  await page.reload();
  await answer.getByRole("button", { name: "Ask helper" }).waitFor(); // an address alone asks no model
});

test("hostile documents and questions are shown as text", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  await upload(tenant, "docs", { "hostile.md": `# ${hostile[0]}\n\n${hostile.map((text) => `gate ${text}`).join("\n\n")}` });
  for (const mode of ["keyword", "graph"]) {
    const page = await openPage(t, { key: tenant.secret, path: `/ask?index=docs&mode=${mode}&question=${encodeURIComponent(`gate ${hostile[0]}`)}` });
    await page.getByRole("article", { name: "Result 1" }).waitFor();
    await harmless(page);
  }
});

test("a filter that the service refuses is explained", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, allowErrors: true, path: `/ask?index=docs&question=gate&filter=${encodeURIComponent('{"$uri":{"$gt":"a"}}')}` });
  await page.getByRole("alert").getByText("is not an operator of $uri").first().waitFor();
});
