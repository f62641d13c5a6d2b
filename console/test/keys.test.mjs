import assert from "node:assert/strict";
import test from "node:test";
import { accessible, call, handbook, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

test("a key is created, used, and revoked", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/keys" });
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByLabel("Name").fill("search page");
  await page.getByLabel("Expires after").fill("30");
  await page.getByLabel("Mandatory filter").fill('{"team": "legal"}');
  await accessible(page);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const secret = (await page.getByRole("dialog").locator("pre").first().textContent()).trim();
  await accessible(page);
  assert.deepEqual((await call(secret, "TenantService/WhoAmI")).scopes, ["read"]);
  assert.deepEqual((await call(secret, "QueryService/VectorQuery", { indexName: "docs", queryText: "gate" })).sources, []);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText('filter {"team":"legal"}').waitFor();
  assert.equal(await page.getByText(secret).count(), 0);

  await page.getByRole("button", { name: "Revoke search page" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("revoked").first().waitFor();
  await assert.rejects(call(secret, "TenantService/WhoAmI"), { code: "unauthenticated" });
});

test("a key for web pages is bound to their origins", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/keys", allowErrors: true });
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByRole("combobox", { name: "Origins" }).fill("https://docs.example.com");
  await page.getByRole("combobox", { name: "Origins" }).press("Enter");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("alert").getByText(/at least one/).first().waitFor(); // no index
  await page.getByRole("combobox", { name: "Indexes" }).fill("docs");
  await page.getByRole("combobox", { name: "Indexes" }).press("Enter");
  await accessible(page);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("pages of https://docs.example.com").waitFor();
  const { apiKeys } = await tenant.call("TenantService/ListApiKeys", { tenantId: tenant.tenantId });
  assert.deepEqual(apiKeys[0].origins, ["https://docs.example.com"]);
});

test("a wrong setting of a key is explained", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/keys", allowErrors: true, scheme: "dark" });
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByLabel("Mandatory filter").fill('{"a": {"$no": 1}}');
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("alert").getByText(/\$no/).first().waitFor();
});

test("secrets are set, never shown, and deleted", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/keys/secrets", width: 390 });
  await page.getByRole("button", { name: "Set a secret" }).click();
  await page.getByLabel("Name").fill("crm");
  await page.getByLabel("Value", { exact: false }).first().fill("a-very-secret-value");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("crm is set").waitFor();
  await accessible(page);
  assert.ok(!(await page.content()).includes("a-very-secret-value"));
  await page.getByRole("button", { name: "Delete crm" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No secrets yet").waitFor();
});

test("an endpoint is added, tried, and deleted", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/keys/endpoints", allowErrors: true });
  await page.getByRole("button", { name: "Add an endpoint" }).click();
  await page.getByLabel("Name").fill("mine");
  await page.getByLabel("Address").fill("http://10.0.0.1/v1");
  await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
  await page.getByRole("alert").getByText(/private|network|address/).first().waitFor(); // not into the operator's network
  await page.getByLabel("Address").fill("https://models.example.com/v1");
  await page.getByRole("textbox", { name: "API key" }).fill("a-very-secret-key");
  await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
  await page.getByText("mine is added").waitFor();
  await page.getByRole("button", { name: "Try mine" }).click();
  await page.getByRole("status").first().waitFor();
  await accessible(page);
  assert.ok(!(await page.content()).includes("a-very-secret-key"));
  await page.getByRole("button", { name: "Delete mine" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No endpoints").waitFor();
});

test("a key without the right is told so on every tab", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: await tenant.key({ scopes: ["write"] }), path: "/keys" });
  await page.getByText("Your key may not manage access").waitFor();
  await accessible(page);
});

test("names of keys are shown as text", async (t) => {
  const tenant = await newTenant();
  for (const text of hostile) await tenant.key({ displayName: text });
  const page = await openPage(t, { key: tenant.secret, path: "/keys" });
  for (const text of hostile) await page.getByText(text, { exact: true }).waitFor();
  await harmless(page);
});
