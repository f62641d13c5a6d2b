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
  await page.getByLabel("Question").fill("when does the gate open?");
  await page.keyboard.press("Enter");
  const first = page.getByRole("article", { name: "Result 1" });
  await first.getByRole("link", { name: "Tides" }).waitFor();
  await first.locator("p mark", { hasText: "gate" }).first().waitFor();
  await first.getByText("similarity").waitFor();
  await page.getByText("in the service").waitFor();
  await page.getByText("Chunks examined").waitFor();
  assert.match(page.url(), /question=when\+does/);
  await accessible(page);

  await first.getByRole("link", { name: "Tides" }).click();
  await page.getByRole("heading", { name: "Chunk 0" }).waitFor();
});

test("conditions over known fields make a filter", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=gate", scheme: "dark", width: 390 });
  await page.getByRole("article", { name: "Result 2" }).waitFor();
  await page.getByRole("button", { name: "Add a condition" }).click();
  await page.getByRole("combobox", { name: "Field 1" }).click();
  await page.getByRole("option", { name: "team" }).click();
  await page.getByRole("combobox", { name: "Value 1" }).click();
  await page.getByRole("option", { name: "office" }).click();
  await page.getByRole("status").getByText("1 result in").waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "As JSON" }).click();
  assert.deepEqual(JSON.parse(await page.getByLabel("Filter as JSON").inputValue()), { team: { $eq: "office" } });
  await page.getByLabel("Filter as JSON").fill("{team}");
  await page.getByRole("alert").getByText("not a JSON object").waitFor();
});

test("two settings are shown side by side, with a reranker and the graph", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=gate&compare=1&rerank=lexical&b.rerank=&b.mode=graph" });
  await page.getByRole("region", { name: "Settings A" }).first().getByText("reranker").first().waitFor();
  await page.getByRole("link", { name: "Draw the walk" }).waitFor();
  await accessible(page);
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

test("a question with its relevant passage is saved for evaluations", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=when+does+the+gate+open" });
  await page.getByRole("article", { name: "Result 1" }).getByLabel("Relevant").check();
  await page.getByRole("button", { name: "Save as question" }).click();
  await page.getByRole("combobox", { name: "Question set" }).fill("harbour");
  await accessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved in harbour").waitFor();
  const { questions } = await tenant.call("EvaluateService/ListQuestions", { setName: "harbour" });
  assert.deepEqual(questions.map((q) => [q.questionId, q.relevant[0].uri]), [["when-does-the-gate-open", "tides.md"]]);
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
