import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import test from "node:test";
import { accessible, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";
import { mcpServer, website } from "./sources.mjs";

const handbook = (site) => ({
  "/": `<title>Handbook</title><h1>Handbook</h1><p>The gate opens at noon.</p><a href="/tides">Tides</a> <a href="/broken.pdf">Broken</a> <a href="/hidden">Hidden</a> <a href="/berths">Berths</a>`,
  "/tides": `<title>Tides ${site}</title><h1>Tides</h1><p>High water is at six.</p>`,
  "/berths": "<title>Berths</title><p>North 1 is for large ships.</p>",
  "/broken.pdf": { type: "application/pdf", body: "%PDF-1.7\nnothing" },
  "/hidden": `<title>Hidden</title><meta name="robots" content="noindex"><p>Nothing.</p>`,
});

/** runs waits until the last run of a connector has ended. */
async function runs(tenant, connectorName) {
  for (;;) {
    const connector = await tenant.call("ConnectorService/GetConnector", { connectorName });
    if (["succeeded", "failed"].includes(connector.status)) return connector;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** agree signs in at the address of a connector, as a user does in a browser. */
async function agree(address) {
  const asked = await fetch(address);
  const fields = [...(await asked.text()).matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]);
  assert.equal(fields.length, 3, `${asked.status} at ${asked.url}`);
  const answer = await fetch(asked.url.replace(/\?.*/, ""), { method: "POST", body: new URLSearchParams(fields), headers: { Origin: new URL(asked.url).origin } });
  assert.match(await answer.text(), /is connected/);
}

test("a connector is made, tested, run, looked into, changed and deleted", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  const site = await website(t, handbook("one"));
  await upload(tenant, "docs", { [`${site}/berths`]: "North 1 is closed." }); // which no connector replaces
  const page = await openPage(t, { key: tenant.secret, path: "/connectors" });
  await page.getByText("No connector yet").waitFor();
  await page.getByRole("link", { name: "Create a connector" }).first().click();
  await accessible(page);
  await page.getByRole("link", { name: "Website" }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("handbook");
  await page.getByRole("textbox", { name: "Address" }).fill(`${site}/`);
  await page.getByLabel("Begin paused").check();
  await page.getByRole("button", { name: /^Show \d+ more/ }).click();
  await page.getByLabel("Wait between two requests").fill("0");
  await accessible(page);
  await page.getByRole("button", { name: "Create the connector" }).click();
  await page.waitForURL("**/connectors/handbook");
  await page.getByText("It has not run yet.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Run now" }).count(), 0);

  await page.getByRole("tab", { name: "Test" }).click();
  await page.getByRole("button", { name: "Test the connector" }).click();
  await page.getByRole("row", { name: /Tides one/ }).getByText("would store").waitFor();
  await accessible(page);
  assert.equal((await tenant.call("DocumentService/ListDocuments", { indexName: "docs" })).documents.length, 1);

  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Run now" }).waitFor();
  await page.getByRole("tab", { name: "Runs" }).click();
  await page.getByText("Last run").waitFor();
  await page.getByRole("region", { name: "Runs" }).getByRole("row", { name: /succeeded/ }).waitFor();
  await accessible(page);

  await page.getByRole("tab", { name: "Documents" }).click();
  await page.getByRole("link", { name: "Tides one" }).waitFor();
  await page.getByRole("row", { name: /broken\.pdf/ }).getByText(/broken PDF/).waitFor();
  await accessible(page);
  await page.getByRole("tab", { name: "Items" }).click();
  await page.getByRole("row", { name: /\/hidden/ }).getByText("skipped").waitFor();
  await page.getByText("Failed", { exact: true }).click();
  await page.getByRole("row", { name: /\/berths/ }).getByText(/uploaded/).waitFor();
  assert.match(page.url(), /status=failed/);
  await accessible(page);

  const again = page.waitForResponse((response) => response.url().endsWith("/SyncConnector"));
  await page.getByRole("button", { name: /^Run/ }).click();
  assert.equal((await again).status(), 200);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();

  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByLabel("Description").fill("What people read");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const stored = await tenant.call("ConnectorService/GetConnector", { connectorName: "handbook" });
  assert.deepEqual([stored.description, stored.web.url, stored.web.delayMs, stored.schedule], ["What people read", `${site}/`, 0, "@daily"]);

  await page.getByLabel("Delete its documents, too").check();
  await page.getByRole("button", { name: "Delete the connector" }).click();
  await page.getByLabel("Type handbook to confirm").fill("handbook");
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No connector yet").waitFor();
  assert.equal((await tenant.call("DocumentService/ListDocuments", { indexName: "docs" })).documents.length, 1);
});

test("a source announces changes with a secret that the form names", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  await tenant.call("SecretService/SetSecret", { secretName: "guides-push", value: "sixteen bytes or more" });
  const site = await website(t, handbook("one"));
  const page = await openPage(t, { key: tenant.secret, path: "/connectors?create=web" });
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("guides");
  await page.getByRole("textbox", { name: "Address" }).fill(`${site}/`);
  await page.getByRole("button", { name: /^Show \d+ more/ }).click();
  await page.getByRole("combobox", { name: "Secret of announcements" }).fill("guides-push");
  await accessible(page);
  await page.getByRole("button", { name: "Create the connector" }).click();
  await page.waitForURL("**/connectors/guides");
  await runs(tenant, "guides");
  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByText("The source announces changes to:").waitFor();
  const address = (await page.locator("pre").filter({ hasText: "/push/" }).textContent()).trim();
  await accessible(page);
  const body = "{}";
  const announce = (secret) => fetch(address, { method: "POST", body, headers: { "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` } });
  assert.equal((await announce("another secret of many bytes")).ok, false);
  assert.equal((await announce("sixteen bytes or more")).ok, true);

  await page.getByLabel("Description").fill("Guides");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  assert.equal((await tenant.call("ConnectorService/GetConnector", { connectorName: "guides" })).pushSecretName, "guides-push"); // which stays
});

test("a page does not ask for what it deletes", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  await tenant.call("ConnectorService/CreateConnector", { connectorName: "handbook", indexName: "docs", web: { url: await website(t, handbook("one")) }, paused: true });
  const page = await openPage(t, { key: tenant.secret, path: "/connectors/handbook?tab=definition" });
  await page.clock.install();
  await page.reload();
  await page.route("**/DeleteConnector", async (route) => {
    const response = await route.fetch();
    await page.clock.runFor(60_000); // the connector is gone, and the page has not heard of it
    await route.fulfill({ response });
  });
  await page.getByRole("button", { name: "Delete the connector" }).click();
  await page.getByLabel("Type handbook to confirm").fill("handbook");
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No connector yet").waitFor();
});

test("a user signs in at an MCP server, and its resources come", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  const server = await mcpServer(t, { "note://plan": "# Plan\n\nThe quay is built in spring." });
  const page = await openPage(t, { key: tenant.secret, path: "/connectors?create=mcp", width: 390, scheme: "dark" });
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("notes");
  await page.getByRole("textbox", { name: "Address" }).fill(`${server}/mcp`);
  await page.getByRole("button", { name: "Create the connector" }).click();
  await page.waitForURL("**/connectors/notes");
  await page.getByText("A user has to sign in at the server").waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Sign in" }).click();
  const link = page.getByRole("link", { name: "Open the sign-in page" });
  await accessible(page);
  assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
  await agree(await link.getAttribute("href"));
  await page.getByText("A user has to sign in at the server").waitFor({ state: "detached" });
  await runs(tenant, "notes");
  await page.getByRole("tab", { name: "Documents" }).click();
  await page.getByRole("link", { name: "Plan" }).waitFor();
});

for (const [width, scheme] of [[1280, "dark"], [390, "light"]]) {
  test(`what is wrong with connectors is told, ${width} pixels wide`, async (t) => {
    const tenant = await newTenant();
    await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
    await tenant.call("ConnectorService/CreateConnector", { connectorName: "gone", indexName: "docs", description: hostile[0], web: { url: `${await website(t, {})}/` } });
    const page = await openPage(t, { key: tenant.secret, path: "/connectors", width, scheme, allowErrors: true });
    assert.equal((await runs(tenant, "gone")).status, "failed");
    await page.reload();
    await page.getByRole("row", { name: /gone/ }).getByText("failed").waitFor();
    await accessible(page);
    await page.getByRole("link", { name: "gone" }).click();
    await page.getByRole("alert").getByText("The last run failed").waitFor();
    await harmless(page);
    await accessible(page);
    await page.goto(new URL("/connectors?create=feed", page.url()).href);
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("news");
    await page.getByRole("button", { name: "Create the connector" }).click();
    await page.getByRole("alert").first().waitFor();
    await accessible(page);
  });
}

test("a key without the scope admin does not see connectors", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: await tenant.key({ scopes: ["read", "write"] }), path: "/connectors" });
  await page.getByRole("heading", { name: "Connectors are not for your key" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Connectors" }).count(), 0);
});
