import assert from "node:assert/strict";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

test("an alert is made from its preview, matches, is paused, changed and deleted", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/", allowErrors: true });
  await page.getByRole("navigation").getByRole("link", { name: "Alerts" }).click();
  await page.getByText("No alert yet").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Create an alert" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("Gate times");
  await page.getByLabel("Question").fill("when does the gate open");
  const preview = page.getByRole("region", { name: "Preview" });
  await preview.getByText(/^None of the \d+ passages in the index now would match/).waitFor();
  const similarity = Number(await preview.getByRole("row").nth(1).getByText(/^-?\d\.\d{3}$/).innerText());
  await page.getByRole("button", { name: "Create the alert" }).click(); // a score is missing
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Least similarity").fill(String(Math.floor(similarity * 100) / 100 - 0.01));
  await preview.getByText(/^[1-9]\d* of the \d+ passages in the index now would match/).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Create the alert" }).click();
  await page.waitForURL(/\/alerts\/[0-9a-f-]{36}$/);
  await page.getByText("Nothing matched yet").waitFor();
  await page.getByText("No hook receives the matches").waitFor();

  await upload(tenant, "docs", { "gate.md": `# The gate\n\nWhen does the gate open? The gate opens at noon. ${hostile[0]}` });
  const matches = page.getByRole("region", { name: "Matches" });
  await matches.getByRole("link", { name: "The gate" }).waitFor(); // it appears by itself
  await accessible(page);
  await harmless(page);

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("The alert is paused").waitFor();
  await upload(tenant, "docs", { "later.md": "# Later\n\nWhen does the gate open? The gate opens in the evening." });
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("The alert is paused").waitFor({ state: "detached" });
  assert.equal(await matches.getByRole("link", { name: "Later" }).count(), 0);

  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByRole("combobox", { name: "A passage matches that has" }).click();
  await page.getByRole("option", { name: "keyword" }).click();
  await page.getByLabel("Question").fill("pilot");
  await preview.getByText(/^1 of the \d+ passages in the index now would match/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. It holds for passages from now on.").waitFor();
  const [alert] = (await tenant.call("AlertService/ListAlerts")).alerts;
  assert.deepEqual([alert.queryText, alert.searchMode, alert.minScore, alert.paused], ["pilot", "keyword", 0, false]);

  await page.getByRole("button", { name: "Delete the alert" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill("Gate times");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No alert yet").waitFor();
});

test("an alert of another key is shown to the admin, and changed by its own key alone", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  const reader = await tenant.key({ scopes: ["read"] });
  const own = await openPage(t, { key: reader, path: `/alerts?create&index=docs&question=${encodeURIComponent(hostile[0])}`, width: 390, scheme: "dark", allowErrors: true });
  await own.getByRole("combobox", { name: "A passage matches that has" }).click();
  await own.getByRole("option", { name: "keyword" }).click();
  await own.getByText("None of the 0 passages in the index now would match.").waitFor();
  await own.getByRole("button", { name: "Create the alert" }).click();
  await own.waitForURL(/\/alerts\/[0-9a-f-]{36}$/);
  await own.getByText("Nothing matched yet").waitFor();
  assert.equal(await own.getByText("Delivered by hooks").count(), 0);
  await accessible(own);

  await tenant.call("HookService/CreateHook", { hookName: "told", url: process.env.RAGD_TEST_MODEL, events: ["alert.matched"] });
  const page = await openPage(t, { key: tenant.secret, path: new URL(own.url()).pathname });
  await page.getByRole("link", { name: "Deliveries of told" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByText("only that credential changes it").waitFor();
  await accessible(page);
  await harmless(page);

  const other = await newTenant();
  const stranger = await openPage(t, { key: other.secret, path: new URL(own.url()).pathname, allowErrors: true });
  await stranger.getByRole("alert").getByText("not found").first().waitFor();
});
