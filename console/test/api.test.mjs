// The page that shows the OpenAPI document and makes calls.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, newTenant, openPage } from "./console.mjs";

test("a call is found, changed and made with a key", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { path: "/api", allowErrors: true });
  await page.getByRole("link", { name: "QueryService.VectorQuery" }).waitFor();
  await accessible(page);
  await page.getByRole("searchbox", { name: "Find a call" }).fill("create index");
  await page.getByRole("link", { name: "CreateIndex", exact: true }).click();
  await page.getByRole("heading", { name: "IndexService.CreateIndex" }).waitFor();
  const status = page.getByRole("status");
  await page.getByRole("button", { name: "Send" }).click();
  await status.filter({ hasText: "401 refused" }).filter({ hasText: "enter a key above" }).waitFor();
  assert.match(await page.locator("#answer").innerText(), /"unauthenticated"/);

  await page.getByLabel("Key", { exact: true }).fill(tenant.secret);
  await page.getByRole("textbox", { name: "Message" }).fill('{"indexName": "harbour"');
  await page.getByRole("button", { name: "Send" }).click();
  await status.filter({ hasText: "not valid JSON" }).waitFor();
  await page.getByRole("textbox", { name: "Message" }).fill('{"indexName": "harbour"}');
  assert.match(await page.locator("#curl").innerText(), /IndexService\/CreateIndex[^]*-d '\{"indexName":"harbour"\}'/);
  await page.getByRole("textbox", { name: "Message" }).press("Control+Enter");
  await status.filter({ hasText: "200 OK" }).waitFor();
  assert.equal(JSON.parse(await page.locator("#answer").innerText()).indexName, "harbour");
  assert.deepEqual((await tenant.call("IndexService/ListIndexes")).indexNames, ["harbour"]);
  await accessible(page);

  await page.reload(); // the tab keeps the key, and the address the call
  await page.getByRole("heading", { name: "IndexService.CreateIndex" }).waitFor();
  assert.equal(await page.getByLabel("Key", { exact: true }).inputValue(), tenant.secret);
});

test("calls are made as the console is signed in", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/api#TenantService/WhoAmI", width: 390 });
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("status").filter({ hasText: "200 OK" }).waitFor();
  assert.equal(JSON.parse(await page.locator("#answer").innerText()).tenantId, tenant.tenantId);
  await accessible(page);
});

test("every call of the document can be shown", async (t) => {
  const page = await openPage(t, { path: "/api", scheme: "dark" });
  await page.getByRole("link", { name: "QueryService.VectorQuery" }).click();
  await page.getByText("Fields of Hybrid").click();
  await page.getByText("Fields of the answer: VectorQueryResponse").waitFor();
  await accessible(page);
  const calls = await page.locator("#list a").evaluateAll((links) => links.map((link) => link.hash));
  assert.ok(calls.length > 100);
  for (const call of calls) {
    await page.evaluate((hash) => { location.hash = hash; }, call);
    await page.getByRole("heading", { name: call.slice(1).replace("/", "."), exact: true }).waitFor();
  }
});
