// What the tests share: tenants and keys of their own, signed-in pages, and checks that hold
// on every page.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after } from "node:test";
import { chromium } from "playwright-core";

const url = process.env.RAGD_TEST_URL;
const operatorKey = process.env.RAGD_TEST_OPERATOR_KEY;
const slow = Number(process.env.RAGD_TEST_SLOW ?? 0);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
/** launch returns a connection to the browser of all files; it is closed after this file's tests. */
export async function launch() {
  browser ??= chromium.connect(process.env.RAGD_TEST_BROWSER);
  return browser;
}
after(async () => void (await (await browser)?.close()));

/** downloaded returns the text of a download. The browser is another process, whose files are not read directly. */
export async function downloaded(download) {
  const parts = await (await download.createReadStream()).toArray();
  return Buffer.concat(parts).toString();
}

/** call calls a method of the API, such as "IndexService/CreateIndex", with a key. */
export async function call(key, method, message = {}, headers = {}) {
  const response = await fetch(`${url}/ragd.v1.${method}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(message),
  });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(`${method}: ${answer.message}`), { code: answer.code });
  return answer;
}

let made = 0;
/**
 * newTenant makes a tenant with a key of all scopes, in the first database: a service places others in the smallest one,
 * and other tests register some. key({...}) makes further keys.
 */
export async function newTenant() {
  const tenantId = `t${process.pid}-${++made}`;
  await call(operatorKey, "TenantService/CreateTenant", { tenantId, displayName: tenantId, database: "main" });
  const key = async (settings) =>
    (await call(operatorKey, "TenantService/CreateApiKey", { tenantId, displayName: "test", ...settings })).secret;
  const all = await key({ scopes: ["read", "write", "admin"] });
  return { tenantId, key, secret: all, call: (method, message) => call(all, method, message) };
}

/** operator is the operator's key. */
export const operator = operatorKey;

/** upload stores documents { uri: text } in an index, and waits until they are searchable. */
export async function upload(tenant, indexName, documents) {
  await tenant.call("IndexService/CreateIndex", { indexName }).catch((error) => assert.equal(error.code, "already_exists"));
  for (const [uri, text] of Object.entries(documents)) {
    const { job } = await tenant.call("DocumentService/UploadDocument", { indexName, uri, text });
    await finished(tenant, job.jobId);
  }
}

/** finished waits until a job has ended, and returns it. */
export async function finished(tenant, jobId) {
  for (;;) {
    const job = await tenant.call("DocumentService/GetJob", { jobId });
    if (["succeeded", "failed", "cancelled"].includes(job.status)) return job;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const streams = new WeakMap();
/** streaming waits until the stream of a page's events has begun. */
export async function streaming(page) {
  assert.ok(await streams.get(page), "the page asks for no events");
}

/**
 * openPage returns a page that is signed in with a key (none: not signed in) and shows a path.
 * A test fails if the page reports an error, breaks its policy, or calls another host.
 */
export async function openPage(t, { key, path = "/", width = 1280, height = 900, scheme = "light", motion = "no-preference", allowErrors = false } = {}) {
  const context = await (await launch()).newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: motion, permissions: ["clipboard-read", "clipboard-write"] });
  const problems = [];
  if (key) {
    const response = await context.request.post(`${url}/console/session`, { data: { key }, headers: { Origin: url } });
    assert.equal(response.status(), 204, await response.text());
  }
  if (slow > 0) {
    await context.route(/\/ragd\.v1\./, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * slow));
      await route.continue().catch(() => {}); // the page may have been closed meanwhile
    });
  }
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // a busy machine is slow
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && (!allowErrors || /Content.Security.Policy/i.test(text))) problems.push(`console: ${text}`);
  });
  page.on("request", (request) => {
    if (/^https?:/.test(request.url()) && !request.url().startsWith(url)) problems.push(`request to another host: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.executed = false; // hostile content sets it
    window.addEventListener("securitypolicyviolation", (event) => console.error(`Content-Security-Policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  t.after(async () => {
    if (!t.passed) t.diagnostic(`the page ${page.url()} shows:\n${await page.locator("body").ariaSnapshot({ timeout: 10_000 }).catch(String)}`);
    await context.close();
    assert.deepEqual(problems, []);
  });
  streams.set(page, page.waitForResponse(/\.EventService\/WatchEvents$/).catch(() => null)); // its first message is sent when it has begun
  await page.goto(url + path);
  return page;
}

/** frames waits until a page has drawn some frames. */
export async function frames(page, count = 10) {
  await page.evaluate(async (count) => {
    for (let drawn = 0; drawn < count; drawn++) await new Promise((resolve) => requestAnimationFrame(resolve));
  }, count);
}

/** still waits until no transition changes colours: none has run in ten frames. */
async function still(page) {
  await page.evaluate(async () => {
    const ends = (animation) => animation.playState === "running" && animation.effect.getComputedTiming().endTime !== Infinity;
    for (let frames = 0; frames < 10; frames++) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      if (document.getAnimations().some(ends)) frames = 0;
    }
  });
}

/** accessible fails if axe finds something serious or critical on a page. */
export async function accessible(page) {
  await still(page);
  await page.evaluate(axe); // runs in the debugger's context, which the page's policy does not reach
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.target.join(" ")} (${n.failureSummary})`).join("; ")}`);
  assert.deepEqual(bad, []);
  await fits(page);
}

/** fits fails if something of the page is wider than the window. */
export async function fits(page) {
  assert.deepEqual(await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > width + 1).map((element) => element.outerHTML.slice(0, 200));
  }), []);
}

/** handbook are some documents to search. */
export const handbook = {
  "tides.md": "# Tides\n\nThe gate opens two hours before high water, and closes three hours after it.\n\n## Pilots\n\nA pilot boards every ship longer than 40 metres.\n",
  "berths.md": "# Berths\n\nBerth North 1 takes ships up to 90 metres. Its fee is 30 crowns a day.\n\nShips that wait for the gate lie at the waiting pier.\n",
  "alarms.md": "# Alarms\n\nWhen the siren sounds at night, the harbour master on call answers the telephone and closes the gate.\n",
};

/** hostile are texts that run a script in a page that does not write them as text. */
export const hostile = [
  `<img src=x onerror="window.executed=true">`,
  `"><script>window.executed=true</script>`,
  `<svg onload="window.executed=true">`,
  `javascript:window.executed=true`,
  `{{constructor.constructor('window.executed=true')()}}`,
  `</textarea><iframe srcdoc="<script>parent.executed=true</script>">`,
];

/** harmless fails if hostile content has run. */
export async function harmless(page) {
  assert.equal(await page.evaluate(() => window.executed), false);
}
