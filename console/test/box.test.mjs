// The answer box in pages of other people: a server of each test's own serves them, which has another origin than the service.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import test from "node:test";
import { harmless, hostile, launch, newTenant, upload } from "./console.mjs";

const service = process.env.RAGD_TEST_URL;
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** site serves a page with a body and returns its origin. Its policy allows the service, and nothing inline. */
async function site(t, body) {
  const server = createServer((request, response) => {
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.setHeader("Content-Security-Policy", `default-src 'none'; script-src ${service}; connect-src ${service}; require-trusted-types-for 'script'`);
    response.end(`<!doctype html><html lang="en"><title>Somebody's page</title><body><h1>Tides</h1><p>A page.</p>${body.html}</body></html>`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://docs.pages.test:${server.address().port}`;
}

/**
 * visit returns a page of another site than the service. A test fails if the page breaks its policy, reports an error, or loads
 * something from another host.
 */
async function visit(t, origin, { allowErrors = false, ...options } = {}) {
  const browser = await launch();
  const context = await browser.newContext({ viewport: { width: 900, height: 700 }, ...options });
  const problems = [];
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // a busy machine is slow
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && (!allowErrors || /Content.Security.Policy/i.test(message.text()))) problems.push(message.text());
  });
  page.on("request", (request) => {
    if (![origin, service].includes(new URL(request.url()).origin)) problems.push(`request to another host: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.executed = false; // hostile content sets it
    window.addEventListener("securitypolicyviolation", (event) => console.error(`Content-Security-Policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems.filter((problem) => !/favicon/.test(problem)), []);
  });
  await page.goto(`${origin}/`);
  return page;
}

/** documents are those of the site, by their addresses. */
const documents = {
  "https://docs.example.com/tides": "# Tides\n\nThe gate opens two hours before high water.\n",
  "https://docs.example.com/pilots": "# Pilots\n\nA pilot boards every ship that is longer than 40 metres.\n",
  "mailto:berths": "# Berths\n\nThe fee of berth North 1 is 30 crowns a day.\n",
};

/** prepare makes a tenant with documents and a page with the box, whose key is for its own origin. */
async function prepare(t, { attributes = "", texts = documents, key = {}, index = 'data-index="docs"' } = {}) {
  const tenant = await newTenant();
  await upload(tenant, "docs", texts);
  const body = { html: "" };
  const origin = await site(t, body);
  const secret = await tenant.key({ indexes: { names: ["docs"] }, origins: [origin], ...key });
  body.html = `<script src="${service}/answer-box.js" data-key="${secret}" ${index} ${attributes} defer></script>`;
  return { tenant, origin, body, secret };
}

async function accessible(page) {
  await page.evaluate(axe); // runs in the debugger's context, which the page's policy does not reach
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.nodes.map((n) => n.failureSummary).join("; ")}`), []);
}

test("a visitor asks, and gets the best sentences with links to their sources", async (t) => {
  const { origin } = await prepare(t, { attributes: 'data-title="Ask the harbour" data-note="Answers may be wrong."' });
  const page = await visit(t, origin);
  await page.getByRole("button", { name: "Ask" }).click();
  const dialog = page.getByRole("dialog", { name: "Ask the harbour" });
  await dialog.getByText("Answers may be wrong.").waitFor();
  await dialog.getByRole("textbox", { name: "Your question" }).fill("When does the gate open?");
  await dialog.getByRole("button", { name: "Ask" }).click();
  await dialog.getByText(/The gate opens two hours before high water/).first().waitFor();
  const source = dialog.getByRole("listitem").getByRole("link", { name: "Tides" });
  assert.equal(await source.getAttribute("href"), "https://docs.example.com/tides");
  assert.equal(await source.getAttribute("rel"), "noopener");
  assert.equal(await dialog.getByRole("link", { name: "Source 1: Tides" }).getAttribute("href"), "https://docs.example.com/tides");
  await accessible(page);
});

test("a source without a web address is no link, and no answer is said to be none", async (t) => {
  const { origin } = await prepare(t);
  const page = await visit(t, origin, { colorScheme: "dark" });
  await page.getByRole("button", { name: "Ask" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill("What is the fee of berth North 1?");
  await dialog.getByRole("textbox").press("Enter");
  await dialog.getByText(/30 crowns a day/).first().waitFor();
  await dialog.getByRole("listitem").filter({ hasText: "Berths" }).waitFor();
  assert.equal(await dialog.getByRole("link", { name: "Berths" }).count(), 0);
  await dialog.getByRole("textbox").fill("Who won the chess championship of 1972?");
  await dialog.getByRole("textbox").press("Enter");
  await dialog.getByText("The documents have no passage that answers this.").first().waitFor();
  await accessible(page);
});

test("an agent's answer is streamed, and a follow-up has the conversation", async (t) => {
  const { tenant, origin } = await prepare(t, { index: 'data-agent="guide"', key: { tools: { names: ["ask_guide"] } } });
  await tenant.call("AgentService/CreateAgent", { agentName: "guide", definition: { description: "answers", model: "openai/test", tools: ["vector_query"], indexes: ["docs"] } });
  const script = (message) => fetch(process.env.RAGD_TEST_MODEL.replace("/v1", "/script"), { method: "PUT", body: JSON.stringify(message) });
  const piece = `gate ${tenant.tenantId}`;
  await script({ piece, tool: "vector_query", arguments: { indexName: "docs", queryText: "gate" }, answer: "**Two hours** before high water [1]." });
  const page = await visit(t, origin);
  await page.getByRole("button", { name: "Ask" }).click();
  const dialog = page.getByRole("dialog");
  const sent = page.waitForRequest((request) => request.url().endsWith("/v1/chat/completions") && request.postDataJSON().messages.length === 3);
  await dialog.getByRole("textbox").fill(`When does it open, the ${piece}?`);
  await dialog.getByRole("textbox").press("Enter");
  await dialog.locator("strong", { hasText: "Two hours" }).waitFor();
  await dialog.getByRole("listitem").getByRole("link").waitFor();
  await dialog.getByRole("textbox").fill(`And close, the ${piece}?`);
  await dialog.getByRole("textbox").press("Enter");
  assert.deepEqual((await sent).postDataJSON().messages.map((message) => message.role), ["user", "assistant", "user"]);
  assert.equal((await sent).postDataJSON().stream, true);
  await dialog.getByRole("heading", { name: "And close" }).waitFor();
});

test("the keyboard alone opens the box, asks and closes it", async (t) => {
  const { origin } = await prepare(t);
  const page = await visit(t, origin, { reducedMotion: "reduce" });
  const focused = () => page.evaluate(() => document.querySelector("ragd-answer-box").shadowRoot.activeElement?.tagName ?? "");
  await page.getByRole("button", { name: "Ask" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "BUTTON");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  assert.equal(await focused(), "INPUT");
  const motion = await page.evaluate(() => getComputedStyle(document.querySelector("ragd-answer-box").shadowRoot.querySelector("dialog")).animationName);
  assert.equal(motion, "none");
  await page.keyboard.type("When does the gate open?");
  await page.keyboard.press("Enter");
  await page.getByRole("listitem").getByRole("link", { name: "Tides" }).waitFor();
  assert.match(await page.getByRole("status").textContent(), /two hours before high water.*source/s); // what screen readers read
  for (let tabs = 0; tabs < 12 && (await focused()) !== "A"; tabs++) await page.keyboard.press("Tab");
  assert.equal(await focused(), "A"); // a source
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal(await focused(), "BUTTON"); // the one that opened it
});

test("hostile texts of passages are shown as text", async (t) => {
  const texts = Object.fromEntries(hostile.map((text, i) => [`javascript:window.executed=${i}`, `# Title ${text}\n\nThe tide of harbour ${i} is ${text} at noon.\n`]));
  const { origin } = await prepare(t, { texts });
  const page = await visit(t, origin);
  await page.getByRole("button", { name: "Ask" }).click();
  const dialog = page.getByRole("dialog");
  for (let i = 0; i < hostile.length; i++) {
    await dialog.getByRole("textbox").fill(`What is the tide of harbour ${i} at noon? ${hostile[i]}`);
    await dialog.getByRole("textbox").press("Enter");
    await dialog.getByRole("heading", { name: `harbour ${i} at noon` }).waitFor();
    await dialog.locator("[aria-busy]").waitFor({ state: "detached" });
    assert.ok((await dialog.textContent()).includes(hostile[i]));
  }
  assert.equal(await dialog.locator("img, script, svg, iframe").count(), 0);
  assert.equal(await dialog.locator('a:not([href^="https:"], [href^="http:"])').count(), 0);
  await harmless(page);
});

test("pages of another origin, and other keys, are refused", async (t) => {
  const { tenant, body, secret } = await prepare(t);
  const other = await site(t, body);
  for (const key of [secret, tenant.secret]) {
    body.html = `<script src="${service}/answer-box.js" data-key="${key}" data-index="docs" defer></script>`;
    const page = await visit(t, other, { allowErrors: true });
    await page.getByRole("button", { name: "Ask" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("When does the gate open?");
    await dialog.getByRole("textbox").press("Enter");
    await dialog.locator(".error", { hasText: "cannot be reached from this page" }).waitFor();
    assert.equal(await dialog.getByText("two hours").count(), 0);
  }
});
