import assert from "node:assert/strict";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, operator, upload } from "./console.mjs";

const finder = (page) => page.getByRole("combobox", { name: /^Find a page/ });
const chosen = (page) => page.getByRole("listbox", { name: "Commands" }).getByRole("option", { selected: true });

/** find opens the palette by its keys, types, and waits for all that is found, and the option that is chosen. */
async function find(page, text, option) {
  await page.getByRole("button", { name: "Find or do something" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.waitForFunction(() => document.activeElement.role === "combobox");
  await page.keyboard.type(text);
  await page.getByRole("status").filter({ hasText: /^\d+ found$/ }).waitFor({ state: "attached" });
  await chosen(page).filter({ hasText: option }).waitFor();
}

for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  test(`pages, indexes, documents and actions are found and opened by the keyboard, ${width} pixels wide, ${scheme}`, async (t) => {
    const tenant = await newTenant();
    await upload(tenant, "harbour", handbook);
    const page = await openPage(t, { key: tenant.secret, width, scheme });
    await page.getByRole("link", { name: "harbour" }).waitFor();

    await page.getByRole("button", { name: "Find or do something" }).click();
    await page.getByRole("option", { name: "harbour", exact: true }).waitFor();
    await page.getByRole("option", { name: "Create an index" }).waitFor();
    await accessible(page);
    assert.equal(await finder(page).getAttribute("aria-activedescendant"), await chosen(page).getAttribute("id"));
    await page.keyboard.press("ArrowUp"); // from the first to the last
    assert.equal(await finder(page).getAttribute("aria-activedescendant"), await chosen(page).getAttribute("id"));
    await page.keyboard.press("Home");
    await chosen(page).filter({ hasText: "harbour" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.waitForFunction(() => document.activeElement.textContent.startsWith("Find or do something")); // as before

    await find(page, "hrbr", "harbour"); // letters in order are enough
    await page.keyboard.press("Enter");
    await page.waitForURL("**/indexes/harbour");

    await page.getByLabel("Search by path or title").focus(); // the keys work while something else is typed
    await find(page, "berths", "Berths");
    await accessible(page);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/indexes/harbour/documents/*");
    await page.getByRole("heading", { name: "Berths", level: 1 }).waitFor();

    await find(page, "upl hb", "Upload files to harbour");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.textContent === "Choose files");

    await find(page, "audit", "Audit");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/audit");

    await find(page, "create an api key", "Create an API key");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Create an API key" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    assert.doesNotMatch(page.url(), /create/);

    await find(page, "When does the gate open?", "Ask “When does the gate open?”");
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "Result 1" }).waitFor();
    await find(page, "zzzqqq", "Ask");
    assert.equal(await page.getByRole("option").count(), 1);
  });
}

test("the palette offers what a key may do, and nothing of another tenant", async (t) => {
  const [tenant, other] = [await newTenant(), await newTenant()];
  await upload(tenant, "harbour", handbook);
  await upload(other, "secretplans", { "secretplans.md": "# Secret plans\n\nNobody knows them.\n" });
  const reader = await openPage(t, { key: await tenant.key({ scopes: ["read"] }) });
  await find(reader, "harbour", "harbour");
  await finder(reader).fill("create");
  await chosen(reader).filter({ hasText: "Create an alert" }).waitFor(); // which is all that who may read creates
  assert.equal(await reader.getByRole("option").count(), 2); // and the question
  await finder(reader).fill("secretplans");
  await chosen(reader).filter({ hasText: "Ask “secretplans”" }).waitFor();
  await reader.locator('[role="listbox"]:not([aria-busy])').waitFor();
  assert.equal(await reader.getByRole("option").count(), 1);

  await tenant.call("ToolService/CreateTool", { toolName: "find_rule", kind: "vector_query", description: "Finds rules.", settings: { indexName: "harbour" } });
  const caller = await openPage(t, { key: await tenant.key({ scopes: ["read"], tools: { names: ["find_rule"] } }), path: "/tools" });
  await find(caller, "tools", "Tools and servers");
  await finder(caller).fill("harbour");
  await caller.getByText("Nothing has these letters.").waitFor();

  const nobody = await openPage(t, { key: operator });
  await find(nobody, tenant.tenantId, tenant.tenantId);
  await nobody.keyboard.press("Enter");
  await nobody.waitForURL(`**/tenants/${tenant.tenantId}`);
});

test("what documents are called is shown as text", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", Object.fromEntries(hostile.map((text, i) => [`hostile ${i} ${text}.txt`, `Gate ${text}`])));
  const page = await openPage(t, { key: tenant.secret });
  await find(page, "hostile", /.*/);
  await page.getByRole("option", { name: /^hostile 0/ }).waitFor();
  await finder(page).fill(hostile[0]);
  await page.getByRole("option", { name: /^Ask/ }).waitFor();
  await harmless(page);
});
