import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { accessible, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

/** startReceiver is an address that answers deliveries with a status that tests change. */
async function startReceiver(t) {
  const receiver = { status: 200, bodies: [] };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    receiver.bodies.push(JSON.parse(body));
    response.writeHead(receiver.status).end(hostile[0]);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  receiver.url = `http://127.0.0.1:${server.address().port}/events`;
  return receiver;
}

test("a hook is created, tested, receives, is changed, gets a new secret and is deleted", async (t) => {
  const tenant = await newTenant();
  const receiver = await startReceiver(t);
  const page = await openPage(t, { key: tenant.secret, path: "/hooks", allowErrors: true });
  await page.getByText("No hook yet").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Create a hook" }).first().click();
  await page.getByLabel("Name").fill("ingest");
  await page.getByLabel("Address").fill("nowhere");
  await page.getByRole("combobox", { name: "Events" }).fill("document.ready");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Create the hook" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByLabel("Address").getAttribute("aria-invalid"), "true");
  await page.getByLabel("Address").fill(receiver.url);
  await accessible(page);
  await page.getByRole("button", { name: "Create the hook" }).click();
  const dialog = page.getByRole("dialog");
  const secret = await dialog.getByText(/^whsec_/).textContent();
  await accessible(page);
  await page.keyboard.press("Escape"); // does not lose the secret
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await page.waitForURL("**/hooks/ingest");
  await dialog.waitFor({ state: "detached" });
  assert.equal((await page.content()).includes(secret), false);

  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByRole("heading", { name: "The test was received" }).waitFor();
  assert.equal(receiver.bodies[0].type, "hook.test");
  await upload(tenant, "harbour", { "tides.md": "# Tides\n\nThe gate opens." });
  const rows = page.getByRole("region", { name: "Deliveries" });
  await rows.getByRole("button", { name: "document.ready", exact: true }).click(); // it appears by itself
  await page.getByText(hostile[0]).first().waitFor();
  await accessible(page);
  await harmless(page);

  const before = receiver.bodies.length;
  await rows.getByRole("button", { name: "Deliver again: document.ready" }).click();
  while (receiver.bodies.length === before) await page.waitForTimeout(50);

  await page.getByRole("tab", { name: "Secret" }).click();
  await page.getByRole("button", { name: "Replace the secret" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace" }).click();
  assert.notEqual(await page.getByText(/^whsec_/).textContent(), secret);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByText(/The secret before this one ends/).waitFor();
  await accessible(page);

  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByRole("switch", { name: "Send content" }).click({ force: true });
  await page.getByLabel("Headers").fill("X-Team: harbour");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const hook = await tenant.call("HookService/GetHook", { hookName: "ingest" });
  assert.deepEqual([hook.includeContent, hook.enabled, hook.headers, hook.events], [false, true, { "X-Team": "harbour" }, ["document.ready"]]);

  await page.getByRole("button", { name: "Delete the hook ingest" }).click();
  await page.getByLabel("Type ingest to confirm").fill("ingest");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No hook yet").waitFor();
});

test("a hook whose address fails says so", async (t) => {
  const tenant = await newTenant();
  const receiver = await startReceiver(t);
  receiver.status = 500;
  await tenant.call("HookService/CreateHook", { hookName: "broken", url: receiver.url, events: ["*"], description: hostile[2] });
  for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
    const page = await openPage(t, { key: tenant.secret, path: "/hooks/broken", width, scheme });
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByRole("heading", { name: "The test was not received" }).waitFor();
    await page.getByText("HTTP 500").first().waitFor();
    await accessible(page);
    await harmless(page);
  }
});

test("a key without the scope admin, or with bounds, is told why it sees no hooks", async (t) => {
  const tenant = await newTenant();
  const writer = await openPage(t, { key: await tenant.key({ scopes: ["read", "write"] }), path: "/hooks" });
  await writer.getByText("Hooks need a key with the scope admin.").waitFor();
  assert.equal(await writer.getByRole("link", { name: "Hooks" }).count(), 0);
  const filtered = await openPage(t, { key: await tenant.key({ scopes: ["read", "write", "admin"], mandatoryFilter: { audience: "public" } }), path: "/hooks/some" });
  await filtered.getByRole("heading", { name: "Your key does not see hooks" }).waitFor();
  await accessible(filtered);
});
