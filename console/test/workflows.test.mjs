import assert from "node:assert/strict";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

const summary = {
  description: "Finds passages, and publishes them when somebody agrees.",
  inputSchema: { type: "object", properties: { topic: { type: "string" } }, required: ["topic"] },
  steps: [
    { id: "find", kind: "query", input: { indexName: { value: "docs" }, queryText: { initData: true, path: "topic" }, topK: { value: 1 } } },
    { id: "approval", kind: "wait", message: "Publish this passage?", schema: { type: "object", properties: { approved: { type: "boolean" } }, required: ["approved"] } },
    { id: "decision", kind: "branch", branches: [{ when: "steps.approval.approved", steps: [{ id: "published", kind: "map", input: { text: { step: "find", path: "sources.0.document" } } }] }], otherwise: [{ id: "rejected", kind: "map", input: { rejected: { value: true } } }] },
  ],
};

test("a workflow is created, refused with its reason, and deleted", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/workflows", allowErrors: true });
  await page.getByText("No workflows yet").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Create a workflow" }).first().click();
  await page.getByLabel("Name").fill("once");
  await page.getByLabel("Description").fill("Says yes.");
  await page.getByLabel("Steps").fill('[{"id": "yes", "kind": "nothing"}]');
  await page.getByRole("button", { name: "Create the workflow" }).click();
  await page.getByText(/nothing/).first().waitFor();
  await page.getByLabel("Steps").fill('[{"id": "yes", "kind": "map", "input": {"answer": {"value": "yes"}}}]');
  await page.getByRole("button", { name: "Create the workflow" }).click();
  await page.getByRole("heading", { name: "once", level: 1 }).waitFor();
  await page.getByRole("tab", { name: "Definition" }).click();
  await accessible(page);
  await page.getByRole("button", { name: "Delete the workflow once" }).click();
  await page.getByLabel("Type once to confirm").fill("once");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No workflows yet").waitFor();
});

test("a run is started, waits for an approval, and is resumed", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  await tenant.call("WorkflowService/CreateWorkflow", { workflowName: "summary", definition: summary });
  const page = await openPage(t, { key: tenant.secret, path: "/workflows/summary", scheme: "dark", allowErrors: true });
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("alert").first().waitFor(); // the topic is missing
  await page.getByLabel("topic").fill("when does the gate open");
  await accessible(page);
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("Publish this passage?").first().waitFor();
  await accessible(page);
  await page.getByRole("combobox", { name: "approved" }).click();
  await page.getByRole("option", { name: "true" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("heading", { name: "Run", level: 2 }).waitFor();
  await page.getByRole("region", { name: "Run", exact: true }).getByText("two hours before high water").waitFor();
  await page.getByText("succeeded").first().waitFor();
  await accessible(page);
  const runId = page.url().split("/").at(-1);
  assert.equal((await tenant.call("WorkflowService/GetRun", { runId })).status, "succeeded");
});

test("a run that waits is cancelled from a phone", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  await tenant.call("WorkflowService/CreateWorkflow", { workflowName: "summary", definition: summary });
  const { runId } = await tenant.call("WorkflowService/StartWorkflow", { workflowName: "summary", input: { topic: "gate" } });
  const page = await openPage(t, { key: tenant.secret, path: `/workflows/summary/runs/${runId}`, width: 390 });
  await page.getByText("Publish this passage?").first().waitFor();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByText("The run was cancelled").waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("row", { name: /cancelled/ }).waitFor();
});

test("hostile descriptions, inputs and outputs are shown as text", async (t) => {
  const tenant = await newTenant();
  const definition = { description: hostile[0], steps: [{ id: "echo", kind: "map", input: { text: { value: hostile.join(" ") } } }, { id: "ask", kind: "wait", message: hostile[1] }] };
  await tenant.call("WorkflowService/CreateWorkflow", { workflowName: "hostile", definition });
  const { runId } = await tenant.call("WorkflowService/StartWorkflow", { workflowName: "hostile", input: { a: hostile[2] } });
  for (const path of ["/workflows", "/workflows/hostile", `/workflows/hostile/runs/${runId}`]) {
    const page = await openPage(t, { key: tenant.secret, path });
    await page.getByText(hostile[path.endsWith(runId) ? 1 : 0]).first().waitFor();
    await harmless(page);
  }
});
