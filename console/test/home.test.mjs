import assert from "node:assert/strict";
import test from "node:test";
import { accessible, frames, handbook, newTenant, openPage, streaming, upload } from "./console.mjs";

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
  const page = await openPage(t, { allowErrors: true });
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
