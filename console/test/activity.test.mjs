import assert from "node:assert/strict";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

test("events appear as they happen, are filtered and can be held", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/activity" });
  await page.getByRole("status").getByText("Live").waitFor();
  await page.getByText("Nothing has happened yet").waitFor();
  await accessible(page);
  await upload(tenant, "harbour", handbook);
  const events = page.getByRole("list", { name: "Events" });
  await events.getByText("tides.md, in harbour").first().waitFor();
  await accessible(page);

  await page.goto(`${page.url()}?kind=index`);
  await page.getByText("Nothing of these kinds yet").waitFor(); // the list begins when the page is opened
  await page.getByRole("status").getByText("Live").waitFor();
  await upload(tenant, "later", { "a.md": "# A\n\nText." });
  await events.getByText("later, created").waitFor();
  assert.equal(await events.getByText("document.ready").count(), 0);

  await page.getByRole("button", { name: "Pause" }).click();
  await upload(tenant, "paused", { "a.md": "# A\n\nText." });
  await page.getByRole("button", { name: /Continue \(\d+ new\)/ }).click();
  await events.getByText("paused, created").waitFor();
});

test("names in events are shown as text, and an event opens as JSON", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/activity", width: 390, scheme: "dark" });
  await page.getByRole("status").getByText("Live").waitFor();
  await upload(tenant, "docs", Object.fromEntries(hostile.map((text, i) => [`${text}${i}.md`, `# ${text}\n\nText ${text}`])));
  const event = page.getByRole("button", { name: /document.ready.*onerror/ });
  await event.click();
  await page.getByText(`"type": "document.ready"`).waitFor();
  await accessible(page);
  await harmless(page);
});

test("the list outlives a change of the screen", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/activity" });
  await page.getByRole("status").getByText("Live").waitFor();
  await page.getByRole("link", { name: "Home" }).click();
  await upload(tenant, "elsewhere", { "a.md": "# A\n\nText." });
  await page.getByRole("link", { name: "elsewhere" }).waitFor();
  await page.getByRole("link", { name: "Activity" }).click();
  await page.getByText("elsewhere, created").waitFor();
});

test("a key that is bound to tools is told why it sees no events", async (t) => {
  const tenant = await newTenant();
  const key = await tenant.key({ scopes: ["read"], tools: { names: ["search"] } });
  const page = await openPage(t, { key, path: "/activity", allowErrors: true });
  await page.getByRole("heading", { name: "Your key is for tools alone" }).waitFor();
});
