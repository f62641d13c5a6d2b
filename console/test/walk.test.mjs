// What people do: from the link that a command prints, by clicking alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { finished, fits, frames, handbook, newTenant, openPage, operator, upload } from "./console.mjs";

const repository = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** printed returns what `ragd console` prints for a key. */
function printed(key, ...args) {
  const env = { PATH: process.env.PATH, HOME: process.env.RAGD_TEST_DIR, RAGD_API_KEY: key };
  const text = execFileSync(process.env.RAGD_TEST_BINARY, ["console", "--no-open", "--server", process.env.RAGD_TEST_URL, ...args], { env, encoding: "utf8" }).trim();
  assert.ok(text.startsWith(process.env.RAGD_TEST_URL), text);
  return text.slice(process.env.RAGD_TEST_URL.length);
}

/** filled returns a tenant that has something on each screen. */
async function filled() {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  await tenant.call("QueryService/VectorQuery", { indexName: "harbour", queryText: "When does the gate close?" });
  await tenant.call("AgentService/CreateAgent", { agentName: "helper", definition: { description: "Answers questions.", model: "openai/gpt-5-mini", indexes: ["harbour"] } });
  await tenant.call("WorkflowService/CreateWorkflow", { workflowName: "once", definition: { description: "Says yes.", steps: [{ id: "yes", kind: "map", input: { answer: { value: "yes" } } }] } });
  await tenant.call("ToolService/CreateTool", { toolName: "find_rule", kind: "vector_query", description: "Finds rules of the handbook.", settings: { indexName: "harbour" } });
  await tenant.call("ServerService/CreateServer", { serverName: "handbook", title: "Handbook" });
  await tenant.call("ConnectorService/CreateConnector", { connectorName: "notes", indexName: "harbour", paused: true, web: { url: process.env.RAGD_TEST_MODEL } });
  await tenant.call("HookService/CreateHook", { hookName: "news", url: process.env.RAGD_TEST_MODEL, events: ["*"] });
  await tenant.call("EvaluateService/CreateQuestionSet", { setName: "gates", indexName: "harbour", questions: [{ questionId: "gate", text: "When does the gate open?", relevant: [{ uri: "tides.md" }] }] });
  const { job } = await tenant.call("EvaluateService/StartEvaluation", { setName: "gates" });
  await finished(tenant, job.jobId);
  return tenant;
}

/** screen waits until a screen has a heading, says more than that, and loads nothing. */
async function screen(page) {
  await page.waitForFunction(() => {
    const main = document.querySelector("main#content");
    return main?.querySelector("h1, h2") && !main.querySelector("[aria-busy='true'], [aria-label='Loading']") && main.innerText.trim().length > 20;
  }).catch(async (error) => assert.fail(`${page.url()} shows ${JSON.stringify(await page.innerText("main#content"))}: ${error.message}`));
  assert.doesNotMatch(await page.innerText("main#content"), /There is no such page/, page.url());
  await fits(page);
}

/** turned does what leads to a page of a kind, and waits until its screen has taken the place of the one before. */
async function turned(page, to, act) {
  const before = await page.evaluate(() => {
    const shown = document.querySelector("main#content > *");
    if (shown) shown.dataset.before = "";
    return [location.href, document.querySelector("h1")?.textContent];
  });
  await act();
  await page.waitForURL((url) => kind(url.pathname) === to);
  await page.waitForFunction(
    ([href, title]) => location.href === href || !document.querySelector("main#content > [data-before]") || document.querySelector("h1")?.textContent !== title,
    before,
  );
  await screen(page);
}

/** openMenu shows the navigation, which is behind a button where the screen is narrow. */
async function openMenu(page) {
  const button = page.getByRole("button", { name: "Navigation", exact: true });
  if ((await button.isVisible()) && (await button.getAttribute("aria-expanded")) !== "true") await button.click();
}

/** openTab shows a tab of a screen; an empty name is that of a screen without tabs. */
async function openTab(page, name) {
  if (!name) return;
  const tab = page.locator("main#content").getByRole("tablist").first().getByRole("tab", { name, exact: true });
  if ((await tab.getAttribute("aria-selected")) !== "true") await tab.click();
  await frames(page); // what the tab shows is asked for when it is drawn
  await screen(page);
}

/** others are pages of the service that are no screens. */
const others = new Set(["/api", "/console/licenses"]);

/** next returns the address of a link below an element that leads to a kind of page that has not been seen; undefined if there is none. */
async function next(below, seen) {
  const all = await below.locator("a[href^='/']:visible").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  return all.find((href) => !others.has(href) && !seen.has(kind(href)));
}

/** documented fails if a link to the repository's documentation names a file that is not there. */
async function documented(page, seen) {
  const links = await page.locator("a[href*='//github.com/ragdhq/ragd/']").evaluateAll((all) => all.map((link) => link.href));
  for (const link of links) {
    if (seen.has(link)) continue;
    seen.add(link);
    const file = /\/(?:blob|tree)\/main\/([^#?]*)/.exec(link)?.[1];
    assert.ok(file && existsSync(path.join(repository, file)), `${page.url()} links to ${link}, which is no file`);
  }
}

/** kind is the path of an address without what is shown there where there are many: one document is walked to, not each. */
const kind = (href) => href.split(/[?#]/)[0].replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ":id").replace(/^\/tools\/[^/]+$/, "/tools/:name");

/** closeDialog closes the dialog that a link has opened, if it is none of a page of its own. */
async function closeDialog(page) {
  await frames(page);
  if ((await page.getByRole("dialog").count()) === 0) return;
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

/** walk clicks links of every screen to pages of all kinds, and returns these. */
async function walk(page) {
  const seen = new Set(), files = new Set();
  const main = page.locator("main#content"), navigation = page.getByRole("navigation", { name: "Main" });
  const follow = async (below, href) => {
    seen.add(kind(href));
    await turned(page, kind(href), () => below.locator(`a[href=${JSON.stringify(href)}]:visible`).first().click());
    await documented(page, files);
    if (/[?]create/.test(href)) await closeDialog(page);
    const tabs = await main.getByRole("tablist").first().getByRole("tab").allInnerTexts();
    for (const tab of tabs.length > 0 ? tabs : [""]) {
      for (let to; await openTab(page, tab), (to = await next(main, seen)); ) {
        const [path, entry] = await page.evaluate(() => [location.pathname, history.state.idx]);
        await follow(main, to);
        await turned(page, kind(path), () => page.evaluate((entry) => history.go(entry - history.state.idx), entry));
      }
    }
  };
  for (let to; await openMenu(page), (to = await next(navigation, seen)); ) await follow(navigation, to);
  return seen;
}

for (const width of [1280, 390]) {
  test(`from the printed link, each link leads to a page with content, ${width} pixels wide`, async (t) => {
    const tenant = await filled();
    const page = await openPage(t, { path: printed(tenant.secret), width });
    await page.getByRole("link", { name: "harbour" }).waitFor();
    assert.equal(new URL(page.url()).pathname, "/");
    assert.doesNotMatch(page.url(), /link=/);
    const seen = await walk(page);
    for (const to of ["/ask", "/graph", "/evaluate", "/agents", "/workflows", "/tools", "/connectors", "/connectors/notes", "/hooks", "/jobs", "/activity", "/keys", "/usage", "/audit", "/indexes/harbour", "/indexes/harbour/documents/:id", "/tools/:name", "/servers/handbook", "/agents/helper", "/workflows/once", "/hooks/news", "/evaluate/sets/gates", "/evaluate/runs/:id"]) {
      assert.ok(seen.has(to), `${to} is not reached by clicking: ${[...seen].join(" ")}`);
    }
    t.diagnostic(`${seen.size} kinds of pages: ${[...seen].join(" ")}`);
  });
}

test("an operator's printed link leads to the tenant that it names", async (t) => {
  const tenant = await filled();
  const page = await openPage(t, { path: printed(operator, "--tenant", tenant.tenantId) });
  await page.getByRole("link", { name: "harbour" }).waitFor();
  await page.getByRole("link", { name: "Tenants" }).click();
  await page.getByLabel("Search tenants").fill(tenant.tenantId); // the first hundred may be other tests'
  await page.getByRole("link", { name: tenant.tenantId, exact: true }).click();
  await page.getByText("It lives in the database main.").waitFor();
  await screen(page);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Databases" }).click();
  await page.getByRole("row", { name: /main/ }).waitFor();
  await screen(page);
});

test("the pages of the service beside the console are reached", async (t) => {
  const tenant = await filled();
  for (const [name, text] of [["API", /OpenAPI/i], ["Licences", /Apache/]]) {
    const page = await openPage(t, { key: tenant.secret, allowErrors: true }); // they have no icon
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name, exact: true }).click();
    await page.waitForURL((url) => others.has(url.pathname));
    await page.getByText(text).first().waitFor();
  }
});

test("a printed link works once, and says so", async (t) => {
  const tenant = await filled();
  const link = printed(tenant.secret);
  const first = await openPage(t, { path: link });
  await first.getByRole("link", { name: "harbour" }).waitFor();
  const second = await openPage(t, { path: link, allowErrors: true });
  await second.getByRole("alert").waitFor();
  await second.getByLabel("API key").fill(tenant.secret);
  await second.getByRole("button", { name: "Sign in" }).click();
  await second.getByRole("link", { name: "harbour" }).waitFor();
});

test("who is signed in already and opens the sign-in page sees the first screen", async (t) => {
  const tenant = await filled();
  const page = await openPage(t, { key: tenant.secret, path: "/sign-in" });
  await page.getByRole("link", { name: "harbour" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/");
});
