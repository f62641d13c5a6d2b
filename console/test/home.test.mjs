import assert from "node:assert/strict";
import test from "node:test";
import { accessible, call, finished, frames, handbook, newTenant, openPage, operator, streaming, upload } from "./console.mjs";

test("a visitor signs in with a key, creates an index, and signs out", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { path: "/" });
  await accessible(page);
  await page.getByLabel("API key").fill(tenant.secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("No index yet").waitFor();
  assert.equal(await page.evaluate((secret) => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]).includes(secret), tenant.secret), false);

  await page.getByRole("button", { name: "Create an index" }).first().click();
  await page.getByLabel("Name").fill("docs");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForURL("**/indexes/docs");

  await page.getByRole("button", { name: "Your access" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to ragd" }).waitFor();
});

test("a wrong key is refused with a reason", async (t) => {
  const page = await openPage(t, { allowErrors: true, width: 390 });
  await page.getByLabel("API key").waitFor();
  await accessible(page);
  await page.getByLabel("API key").fill("ragd_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("Not signed in").waitFor();
});

test("the indexes are listed and change while the page is open", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  for (const scheme of ["light", "dark"]) {
    const page = await openPage(t, { key: tenant.secret, scheme });
    await page.getByRole("link", { name: "harbour" }).waitFor();
    await accessible(page);
    const later = `later-${scheme}`;
    await streaming(page);
    await upload(tenant, later, { "a.md": "# A\n\nText." });
    await page.getByRole("link", { name: later }).waitFor();
  }
});

for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  test(`questions without answers are shown, opened and saved, ${width} pixels wide, ${scheme}`, async (t) => {
    const tenant = await newTenant();
    await upload(tenant, "harbour", handbook);
    const page = await openPage(t, { key: tenant.secret, width, scheme });
    const panel = page.getByRole("region", { name: "Questions to look at" });
    await panel.getByText("every question found something").waitFor();
    for (const queryText of ["Where is the zeppelin?", "where is the ZEPPELIN?"]) await tenant.call("QueryService/VectorQuery", { indexName: "harbour", queryText, minScore: 0.99 });
    for (;;) { // they are written within some seconds
      const { questions: [question] = [] } = await tenant.call("IndexService/ListNotableQuestions", { kind: "unanswered" });
      if (question?.count === "2") break;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await page.reload();
    const list = panel.getByRole("region", { name: "Without an answer" });
    await list.getByText(/asked 2 times/).waitFor();
    await accessible(page);
    await list.getByRole("button", { name: "Save as unanswered" }).click();
    await list.getByRole("button", { name: "Saved as unanswered" }).waitFor();
    const { questions } = await tenant.call("EvaluateService/ListQuestions", { setName: "unanswered-harbour" });
    assert.deepEqual(questions.map(({ text, unanswerable }) => [text, unanswerable]), [["where is the ZEPPELIN?", true]]);
    await list.getByRole("link", { name: "where is the ZEPPELIN?" }).click();
    await page.waitForURL(/\/ask\?index=harbour/);
    assert.equal(await page.getByLabel("Question", { exact: true }).inputValue(), "where is the ZEPPELIN?");
  });
}

test("questions without answers are for the scope admin", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  const page = await openPage(t, { key: await tenant.key({ scopes: ["write"] }) });
  await page.getByRole("region", { name: "Documents and searches" }).waitFor();
  assert.equal(await page.getByRole("region", { name: "Questions to look at" }).count(), 0);
});

test("an admin is told of quotas that are nearly used up", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", { "gate.md": "# Gate\n\nIt opens at noon." });
  await call(operator, "TenantService/UpdateTenant", { tenantId: tenant.tenantId, settings: { maxDocuments: 1, maxIndexes: 100 } });
  const page = await openPage(t, { key: tenant.secret });
  const notice = page.getByRole("status").filter({ hasText: "Quotas are nearly used up" });
  await notice.getByText("Documents: 1 of 1").waitFor();
  assert.equal(await notice.getByText("Indexes").count(), 0);
  await accessible(page);
});

test("every client's snippet has the address of the service", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret });
  const tabs = page.getByRole("tablist", { name: "Clients" }).getByRole("tab");
  await tabs.first().waitFor();
  const names = await tabs.allTextContents();
  assert.ok(names.length >= 8);
  for (const name of names) {
    await page.getByRole("tab", { name, exact: true }).click();
    const text = await page.getByRole("tabpanel").locator("pre").textContent();
    assert.ok(text.includes(process.env.RAGD_TEST_URL), `${name}: ${text}`);
    assert.ok(!text.includes(tenant.secret), name);
  }
});

test("a key is made for a client, and put into its text", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret });
  await page.getByRole("tab", { name: "curl" }).click();
  await page.getByRole("button", { name: "Make a key and put it in" }).click();
  await page.getByText("shown only now").waitFor();
  await accessible(page);
  const panel = page.getByRole("tabpanel");
  const key = /Bearer (ragd_[\w-]+)/.exec(await panel.locator("pre").textContent())[1];
  const who = await call(key, "TenantService/WhoAmI");
  assert.deepEqual([who.tenantId, who.scopes], [tenant.tenantId, ["read"]]);
  for (const name of await page.getByRole("tablist", { name: "Clients" }).getByRole("tab").allTextContents()) {
    await page.getByRole("tab", { name, exact: true }).click();
    const text = await panel.locator("pre").textContent();
    assert.ok(text.includes(key) && !/RAGD_API_KEY(?!")|ragd-key/.test(text), text);
    if (/^[{]/.test(text)) JSON.parse(text);
  }
  await page.reload();
  await panel.locator("pre").waitFor();
  assert.ok(!(await page.content()).includes(key));

  const reader = await openPage(t, { key: await tenant.key({ scopes: ["read"] }) });
  await reader.getByRole("tablist", { name: "Clients" }).waitFor();
  assert.equal(await reader.getByRole("button", { name: "Make a key and put it in" }).count(), 0);
});

for (const [width, scheme] of [[1280, "dark"], [390, "light"]]) {
  test(`the first steps are shown until they are done, ${width} pixels wide, ${scheme}`, async (t) => {
    const tenant = await newTenant();
    const page = await openPage(t, { key: tenant.secret, width, scheme });
    const steps = page.getByRole("region", { name: "First steps" });
    const done = (count) => steps.getByText(`${count} of 5 done`).waitFor();
    await done(0);
    await accessible(page);
    await steps.getByRole("link", { name: "Create an index" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("harbour");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/indexes/harbour");
    await upload(tenant, "harbour", handbook);
    await page.goBack();
    await done(2);
    await steps.getByRole("link", { name: "Ask a question" }).click();
    await page.getByLabel("Question", { exact: true }).fill("When does the gate open?");
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "Result 1" }).waitFor();
    const key = await tenant.key({ scopes: ["read"] });
    await call(key, "TenantService/WhoAmI");
    for (;;) {
      const [{ rows = [] }, { apiKeys }] = [await tenant.call("UsageService/ListUsage", { groupBy: ["stage"] }), await tenant.call("TenantService/ListApiKeys", { tenantId: tenant.tenantId })];
      if (rows.some((row) => row.stage === "query") && apiKeys.filter((key) => key.lastUseTime).length > 1) break; // counts arrive within some seconds
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await page.goto(process.env.RAGD_TEST_URL);
    await done(4);
    await page.getByText(/^\d+ search(es)? answered/).waitFor();
    await steps.getByRole("link", { name: "Connect a client" }).click();
    await page.getByRole("heading", { name: "Connect a client" }).waitFor();
    await tenant.key({ scopes: ["read"] });
    await page.reload();
    await page.getByRole("link", { name: "harbour" }).waitFor();
    assert.equal(await steps.count(), 0);
  });
}

test("what has failed is named, with the page that says why", async (t) => {
  const [tenant, other] = [await newTenant(), await newTenant()];
  await upload(tenant, "harbour", handbook);
  await upload(other, "harbour", handbook);
  const { job } = await tenant.call("DocumentService/UploadDocument", { indexName: "harbour", uri: "broken.pdf", contentType: "application/pdf", content: btoa("%PDF-1.7\nnothing") });
  assert.equal((await finished(tenant, job.jobId)).status, "failed");
  const page = await openPage(t, { key: tenant.secret });
  await page.getByRole("list", { name: "What has failed" }).getByRole("link", { name: /^1 document of harbour/ }).click();
  await page.getByRole("link", { name: "broken.pdf" }).waitFor();
  const clean = await openPage(t, { key: other.secret });
  await clean.getByText("Nothing has failed.").waitFor();
  await accessible(clean);
});

test("the page of an operator without a tenant says what to do", async (t) => {
  const page = await openPage(t, { key: process.env.RAGD_TEST_OPERATOR_KEY });
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  await accessible(page);
});

test("the first screen is small, and does not move while it loads", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  const page = await openPage(t, { key: tenant.secret });
  await page.getByRole("link", { name: "harbour" }).waitFor();
  await page.evaluate(() => document.fonts.ready);
  await frames(page);
  const { bytes, shift, shown } = await page.evaluate(async () => {
    // A browser reports what it has measured when it has time.
    const first = (type) => new Promise((resolve) => new PerformanceObserver((list) => resolve(list.getEntries())).observe({ type, buffered: true }));
    const paints = await first("paint");
    let shift = 0;
    const add = (list) => list.getEntries().forEach((entry) => (shift += entry.value));
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
    await new Promise((resolve) => setTimeout(resolve, 200)); // none may come
    const files = performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/assets/"));
    return {
      bytes: files.reduce((sum, file) => sum + file.encodedBodySize, 0),
      shift,
      shown: paints[0].startTime,
    };
  });
  t.diagnostic(`${bytes} bytes, layout shift ${shift.toFixed(3)}, first paint after ${shown.toFixed(0)} ms`);
  assert.ok(bytes < 400_000, `${bytes} bytes`);
  assert.ok(shift < 0.1, `layout shift ${shift}`);
});
