import assert from "node:assert/strict";
import test from "node:test";
import { accessible, call, downloaded, handbook, newTenant, openPage, upload } from "./console.mjs";

test("usage is shown by time and stage, and saved as CSV", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  await call(tenant.secret, "QueryService/VectorQuery", { indexName: "docs", queryText: "gate" });
  const page = await openPage(t, { key: tenant.secret, path: "/usage" });
  const table = page.getByRole("region", { name: "Usage" });
  await table.getByText("ingest").waitFor();
  for (let tries = 0; (await table.getByText("query").count()) === 0; tries++) { // written within some seconds
    assert.ok(tries < 30, "the search is not counted");
    await page.waitForTimeout(1000);
    await page.reload();
    await table.getByText("ingest").waitFor();
  }
  await accessible(page);
  await page.getByRole("combobox", { name: "Rows" }).click();
  await page.getByRole("option", { name: "By index and stage" }).click();
  await table.getByText("docs").first().waitFor();
  assert.match(page.url(), /by=index/);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as CSV" }).click()]);
  const text = await downloaded(file);
  assert.match(text, /^start,tenant,index,stage,/);
  assert.ok(text.includes(`,${tenant.tenantId},docs,query,,1,`), text);
});

test("the audit log shows changes and their outcome, and is filtered", async (t) => {
  const tenant = await newTenant();
  await call(tenant.secret, "IndexService/CreateIndex", { indexName: "papers" });
  await call(tenant.secret, "IndexService/DeleteIndex", { indexName: "nothing" }).catch(() => {});
  const page = await openPage(t, { key: tenant.secret, path: "/audit", scheme: "dark" });
  const table = page.getByRole("region", { name: "Audit log" });
  await table.getByText("papers").waitFor();
  await table.getByText("not found").waitFor();
  await accessible(page);
  await page.getByRole("textbox", { name: "Method" }).fill("CreateIndex");
  await table.getByText("not found").waitFor({ state: "detached" });
  await table.getByText("papers").waitFor();
  await page.getByRole("textbox", { name: "Method" }).fill("DeleteTenant");
  await page.getByText("Nothing matches").waitFor();
});

test("a key without the scope admin is told what the pages need", async (t) => {
  const tenant = await newTenant();
  const secret = await tenant.key({ scopes: ["write"] });
  for (const path of ["/usage", "/audit"]) {
    const page = await openPage(t, { key: secret, path, width: 390 });
    await page.getByText("needs a key with the scope admin").waitFor();
    await accessible(page);
  }
});
