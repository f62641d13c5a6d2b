import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import test from "node:test";
import { accessible, downloaded, finished, handbook, harmless, hostile, newTenant, openPage, streaming, upload } from "./console.mjs";

const questions = [
  { questionId: "gate", text: "When does the gate open?", relevant: [{ uri: "tides.md" }] },
  { questionId: "berth", text: "What does a berth cost?", relevant: [{ uri: "berths.md" }] },
  { questionId: "lost", text: "When does the siren sound?", relevant: [{ uri: "nowhere.md" }] },
];

async function harbour() {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  return tenant;
}

async function run(tenant, settings) {
  const started = await tenant.call("EvaluateService/StartEvaluation", { setName: "asked", ...settings });
  await finished(tenant, started.job.jobId);
  return started.evaluationId;
}

test("a visitor makes a set, adds a question, runs it and sees its measures", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/evaluate" });
  await page.getByText("No question set yet").waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Create a question set" }).first().click();
  await page.getByLabel("Name").fill("asked");
  await page.getByRole("combobox", { name: "Index" }).fill("harbour");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForURL("**/evaluate/sets/asked");

  await page.getByRole("button", { name: "Add a question" }).click();
  await page.getByRole("textbox", { name: "Question" }).fill("When does the gate open?");
  await page.getByLabel("Uri of document 1").fill("tides.md");
  await accessible(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "When does the gate open?" }).waitFor();
  await accessible(page);

  await page.getByRole("button", { name: "Start a run" }).click();
  await page.getByLabel("Label").fill("first try");
  await page.getByLabel("More settings").fill(`{"nonsense": 1}`);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("alert").getByText("nonsense").waitFor();
  await page.getByLabel("More settings").fill(`{"maxPerDocument": 1}`);
  await accessible(page);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL("**/evaluate/runs/**");
  await page.getByRole("heading", { name: "first try" }).waitFor();
  await page.getByRole("region", { name: "Measures" }).getByRole("row", { name: /recall@5 1\.000/ }).first().waitFor();
  await accessible(page);
  const { evaluations } = await tenant.call("EvaluateService/ListEvaluations", {});
  assert.equal(evaluations[0].query.maxPerDocument, 1);
});

test("failed questions of a run come first, with what they missed", async (t) => {
  const tenant = await harbour();
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "asked", indexName: "harbour", questions });
  const id = await run(tenant, {});
  for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
    const page = await openPage(t, { key: tenant.secret, path: `/evaluate/runs/${id}`, width, scheme });
    const first = page.getByRole("list", { name: "Results" }).getByRole("listitem").first();
    await first.getByText("When does the siren sound?").waitFor();
    await first.getByText("nothing relevant found").waitFor();
    await first.getByRole("button").first().click();
    await first.getByText("nowhere.md").waitFor();
    await first.getByRole("cell", { name: "alarms.md" }).waitFor();
    await accessible(page);
    await page.getByText("Good (2)").click();
    await page.waitForURL("**show=good");
    await page.getByText("When does the siren sound?").waitFor({ state: "detached" });
  }
});

test("runs appear and end while the page is open", async (t) => {
  const tenant = await harbour();
  const many = Array.from({ length: 400 }, (_, i) => ({ questionId: `q${i}`, text: `When does gate ${i} open?`, relevant: [{ uri: "tides.md" }] }));
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "asked", indexName: "harbour", questions: many });
  const page = await openPage(t, { key: tenant.secret, path: "/evaluate/sets/asked?tab=runs" });
  await page.getByText("No run yet").waitFor();
  await streaming(page);
  const { evaluationId } = await tenant.call("EvaluateService/StartEvaluation", { setName: "asked", label: "live" });
  await page.getByRole("link", { name: "live" }).click();
  await page.waitForURL(`**/evaluate/runs/${evaluationId}`);
  await page.getByRole("region", { name: "Measures" }).getByRole("row", { name: /recall@5/ }).first().waitFor();
  await page.getByText("All (400)").waitFor();
});

test("a run asks an agent, and shows its answers", async (t) => {
  const tenant = await harbour();
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "asked", indexName: "harbour", questions: [{ questionId: "fee", text: "What is the fee of berth North 1?", answer: "30 crowns" }] });
  await tenant.call("AgentService/CreateAgent", { agentName: "clerk", definition: { description: "Answers about the harbour.", model: "openai/clerk", instructions: "Answer.", indexes: ["harbour"] } });
  const page = await openPage(t, { key: tenant.secret, path: "/evaluate/sets/asked" });
  await page.getByRole("button", { name: "Start a run" }).click();
  await page.getByText("Agent", { exact: true }).click();
  await page.getByRole("combobox", { name: "Agent" }).fill("clerk");
  await accessible(page);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL("**/evaluate/runs/**");
  await page.getByRole("heading", { name: "agent clerk" }).waitFor();
  await page.getByRole("region", { name: "Measures" }).getByRole("row", { name: /exactMatch 0\.000/ }).first().waitFor();
  const first = page.getByRole("list", { name: "Results" }).getByRole("listitem").first();
  await first.getByRole("button").first().click();
  await first.getByText("I do not know.").waitFor();
  await accessible(page);
});

test("two runs are compared question by question", async (t) => {
  const tenant = await harbour();
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "asked", indexName: "harbour", questions });
  await run(tenant, { label: "without", query: { filter: { none: "such" } } });
  await run(tenant, { label: "with" });
  const page = await openPage(t, { key: tenant.secret, path: "/evaluate/sets/asked?tab=runs" });
  await page.getByLabel("Compare with", { exact: true }).check();
  await page.getByLabel("Compare without").check();
  await page.getByRole("button", { name: "Compare two runs" }).click();
  await page.waitForURL("**/evaluate/compare?**");
  await page.getByRole("region", { name: "Baseline" }).getByRole("link", { name: "without" }).waitFor(); // the older one
  const differences = page.getByRole("region", { name: "Differences of the measures" });
  await differences.getByRole("row", { name: /^recall@5 0\.000 0\.667 \+0\.667/ }).waitFor();
  await page.getByRole("region", { name: "Questions that changed most" }).getByRole("row", { name: /What does a berth cost\?/ }).first().waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Swap" }).click();
  await differences.getByRole("row", { name: /^recall@5 0\.667 0\.000 −0\.667/ }).waitFor();
});

test("questions are imported from a file, exported, drafted, reviewed and deleted", async (t) => {
  const tenant = await harbour();
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "asked", indexName: "harbour" });
  const page = await openPage(t, { key: tenant.secret, path: "/evaluate/sets/asked" });
  const file = path.join(process.env.RAGD_TEST_DIR, "questions.jsonl");
  const lines = [
    { id: "gate", text: "When does the gate open?", uris: ["tides.md"] },
    { id: "fee", text: "What is the fee?", relevant: [{ uri: "berths.md", grade: 2, startByte: 10, endByte: 60 }], answer: "30 crowns" },
    { id: "moon", text: "Who owns the moon?", unanswerable: true },
  ].map((line) => JSON.stringify(line));
  await writeFile(file, `${lines[0]}\nno JSON\n`);
  await page.getByRole("button", { name: "Import a file" }).click();
  await page.locator("input[type=file]").first().setInputFiles(file);
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByRole("alert").getByText("Line 2: is not JSON").waitFor(); // and the file must be chosen again
  await accessible(page);
  await writeFile(file, [...lines, JSON.stringify({ id: "open", text: "Not judged" }), ""].join("\n"));
  await page.locator("input[type=file]").first().setInputFiles(file);
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByText("Imported 3 questions; left out 1").waitFor();

  await page.getByRole("button", { name: "More" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: "Export as a file" }).click();
  const exported = (await downloaded(await download)).trim().split("\n");
  assert.deepEqual(exported.map((line) => JSON.parse(line)).sort((a, b) => a.id.localeCompare(b.id)), lines.map((line) => JSON.parse(line)).sort((a, b) => a.id.localeCompare(b.id)));

  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Draft questions" }).click();
  await page.getByRole("textbox", { name: "Questions" }).fill("2");
  await accessible(page);
  await page.getByRole("button", { name: "Draft", exact: true }).click();
  await page.getByText(/[12] drafts? to review/).waitFor();
  await page.getByText("Drafts", { exact: true }).click();
  await page.waitForURL("**drafted=yes");
  await page.getByLabel("Choose all").check();
  await page.getByRole("button", { name: "Mark as reviewed" }).click();
  await page.getByText("Nothing matches.").waitFor();
  const set = await tenant.call("EvaluateService/GetQuestionSet", { setName: "asked" });
  assert.equal(set.draftedCount, 0);

  await page.getByText("All", { exact: true }).click();
  await page.getByLabel("Choose moon").check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Who owns the moon?").waitFor({ state: "detached" });
});

test("hostile questions, labels and descriptions are shown as text", async (t) => {
  const tenant = await harbour();
  const asked = hostile.map((text, i) => ({ questionId: `q${i} ${text}`, text: `gate ${text}`, relevant: [{ uri: `tides.md${text}` }] }));
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "asked", indexName: "harbour", description: hostile[0], questions: asked });
  const id = await run(tenant, { label: hostile[2] });
  const page = await openPage(t, { key: tenant.secret, path: "/evaluate" });
  await page.getByText(hostile[0], { exact: true }).waitFor();
  await page.goto(page.url().replace("/evaluate", "/evaluate/sets/asked"));
  await page.getByText(`gate ${hostile[1]}`).waitFor();
  await page.goto(page.url().replace("/sets/asked", `/runs/${id}`));
  await page.getByRole("heading", { name: hostile[2] }).waitFor();
  const first = page.getByRole("list", { name: "Results" }).getByRole("listitem").first();
  await first.getByRole("button").first().click();
  await first.getByText("Relevant, but not found").waitFor();
  await harmless(page);
});

test("a key that may only read sees sets and runs, and nothing to change them", async (t) => {
  const tenant = await harbour();
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "asked", indexName: "harbour", questions });
  const id = await run(tenant, {});
  const key = await tenant.key({ scopes: ["read"] });
  const page = await openPage(t, { key, path: "/evaluate" });
  await page.getByRole("link", { name: "asked" }).first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Create a question set" }).count(), 0);
  await page.goto(page.url().replace("/evaluate", "/evaluate/sets/asked"));
  await page.getByText("When does the gate open?").waitFor();
  assert.equal(await page.getByRole("button", { name: /Add a question|Start a run/ }).count(), 0);
  await page.goto(page.url().replace("/sets/asked", `/runs/${id}`));
  await page.getByRole("heading", { name: "Measures" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /Run again|Delete/ }).count(), 0);
});
