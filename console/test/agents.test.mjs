import assert from "node:assert/strict";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

const script = (piece, rest) => fetch(new URL("/script", process.env.RAGD_TEST_MODEL), { method: "PUT", body: JSON.stringify({ piece, ...rest }) });

/** harbour returns a tenant with documents and an agent. */
async function harbour() {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  await tenant.call("AgentService/CreateAgent", { agentName: "helper", definition: { description: "Answers questions about the harbour.", model: "openai/gpt-5-mini", indexes: ["docs"] } });
  return tenant;
}

test("an agent is created in a form, and refused with its reason", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/agents", allowErrors: true });
  await page.getByText("No agents yet").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Create an agent" }).first().click();
  await page.getByLabel("Name", { exact: false }).first().fill("guide");
  await page.getByLabel("Description").fill("Knows the harbour.");
  await page.getByLabel("Model").fill("nobody/none");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await page.getByRole("alert").first().waitFor();
  await page.getByLabel("Model").fill("openai/gpt-5-mini");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await page.getByRole("heading", { name: "guide", level: 1 }).waitFor();
  await accessible(page);
});

test("an answer comes with its calls and citations", async (t) => {
  const tenant = await harbour();
  await script("when does the gate open", { tool: "vector_query", arguments: { queryText: "gate" }, answer: "Two hours before high water [1]." });
  const page = await openPage(t, { key: tenant.secret, path: "/agents/helper", scheme: "dark" });
  await page.getByLabel("Message").fill("when does the gate open?");
  await page.keyboard.press("Enter");
  await page.getByText("Two hours before high water").waitFor();
  await page.getByText("vector_query").first().waitFor();
  await page.getByRole("list", { name: "Citations" }).getByText("bytes").first().waitFor();
  await page.getByText("2 steps, 1 call").waitFor();
  await accessible(page);
});

test("a conversation is remembered, listed, and deleted", async (t) => {
  const tenant = await harbour();
  await script("my name is Ada", { answer: "Hello Ada." });
  const page = await openPage(t, { key: tenant.secret, path: "/agents/helper", width: 390 });
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await page.getByRole("button", { name: "Leave it" }).waitFor(); // the form is a new one
  await page.getByLabel("Message").fill("my name is Ada");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Hello Ada.").waitFor();
  await page.getByRole("tab", { name: "Conversations" }).click();
  await page.getByRole("region", { name: "Conversations" }).getByRole("link").click();
  await page.getByText("my name is Ada").waitFor();
  await page.getByRole("tab", { name: "Conversations" }).click();
  await page.getByRole("button", { name: /^Delete console-/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No conversations yet").waitFor();
});

test("what a model writes is shown as text", async (t) => {
  const tenant = await harbour();
  await script("attack", { answer: hostile.join("\\n") });
  const page = await openPage(t, { key: tenant.secret, path: "/agents/helper" });
  await page.getByLabel("Message").fill(`attack ${hostile[0]}`);
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText(hostile[1], { exact: false }).first().waitFor();
  await harmless(page);
});
