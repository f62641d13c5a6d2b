import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, operator, streaming, upload } from "./console.mjs";

/** startOrders is a service that tools call. */
async function startOrders(t) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ path: request.url, body: JSON.parse(body || "{}"), note: hostile[0] }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

test("a search tool is created in the form, called, changed as JSON and deleted", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/tools", allowErrors: true });
  await page.getByText("No tool of your own yet").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Create a tool" }).first().click();
  await page.getByLabel("Name").fill("find_rule");
  await page.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: "vector_query" }).click();
  await page.getByLabel("Description").fill("Finds rules of the harbour.");
  await page.getByRole("combobox", { name: "Index" }).fill("nowhere");
  await accessible(page);
  await page.getByRole("button", { name: "Create the tool" }).click();
  await page.getByRole("alert").getByText(/nowhere/).waitFor(); // the service's own reason
  await page.getByRole("combobox", { name: "Index" }).fill("harbour");
  await page.getByRole("button", { name: "Create the tool" }).click();
  await page.waitForURL("**/tools/find_rule");

  await page.getByRole("textbox", { name: "queryText" }).fill("When does the gate open?");
  await page.getByRole("button", { name: "Call the tool" }).click();
  await page.getByText(/two hours before high water/).first().waitFor();
  await accessible(page);
  await page.reload(); // the arguments are in the address
  assert.equal(await page.getByRole("textbox", { name: "queryText" }).inputValue(), "When does the gate open?");

  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByText("JSON", { exact: true }).click();
  const json = page.getByLabel("Definition as JSON");
  const definition = JSON.parse(await json.inputValue());
  assert.equal(definition.outputSchema, undefined); // that of the kind is not made the tool's own
  await json.fill(`{"toolName": "find_rule",`);
  await page.getByText("This is not JSON yet").waitFor();
  assert.equal(await page.getByRole("button", { name: "Save" }).isDisabled(), true);
  await json.fill(JSON.stringify({ ...definition, colour: "red" }));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText(/colour/).waitFor();
  await json.fill(JSON.stringify({ ...definition, settings: { indexName: "harbour", colour: "red" } }));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText(/settings/).waitFor();
  await json.fill(JSON.stringify({ ...definition, title: "Find a rule", settings: { indexName: "harbour", topK: 2 } }));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const stored = await tenant.call("ToolService/GetTool", { toolName: "find_rule" });
  assert.deepEqual([stored.title, stored.settings], ["Find a rule", { indexName: "harbour", topK: 2 }]);

  await page.getByRole("button", { name: "Delete the tool find_rule" }).click();
  await page.getByLabel("Type find_rule to confirm").fill("find_rule");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No tool of your own yet").waitFor();
});

test("a tool of a service: errors stand beside their fields, and its answer is shown as text", async (t) => {
  const tenant = await newTenant();
  const url = await startOrders(t);
  const page = await openPage(t, { key: tenant.secret, path: "/tools?create", allowErrors: true });
  await page.getByLabel("Name").fill("orders");
  await page.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: "http" }).click();
  await page.getByLabel("Description").fill(hostile[1]);
  await page.getByRole("combobox", { name: "Method" }).click();
  await page.getByRole("option", { name: "POST" }).click();
  await page.getByLabel("Address").fill("ftp://example.com");
  await page.getByLabel("Input schema").fill(JSON.stringify({ type: "object", required: ["order"], properties: { order: { type: "string" }, urgent: { type: "boolean" }, count: { type: "integer" } } }));
  await page.getByRole("button", { name: "Create the tool" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByLabel("Address").getAttribute("aria-invalid"), "true");
  await page.getByLabel("Address").fill(`${url}/orders/{{arguments.order}}`);
  await page.getByLabel("Headers").fill("X-Colour: red");
  await page.getByRole("button", { name: "Create the tool" }).click();
  await page.waitForURL("**/tools/orders");

  await page.getByLabel("order").fill("o 7");
  await page.getByLabel("count").fill("2");
  await page.getByRole("button", { name: "Call the tool" }).click();
  await page.getByRole("tab", { name: "Result for programs" }).click();
  await page.getByText(`"path": "/orders/o%207"`).waitFor();
  await page.getByText(`"count": 2`).waitFor();
  await page.getByRole("tab", { name: "curl" }).click();
  await page.getByText("ToolService/CallTool").waitFor();
  await accessible(page);
  await harmless(page);
});

test("a tool that is created elsewhere appears, and a wrong argument is named", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/tools", width: 390, scheme: "dark", allowErrors: true });
  await page.getByText("No tool of your own yet").waitFor();
  await streaming(page);
  await tenant.call("ToolService/CreateTool", { toolName: "later", kind: "graph_rag", settings: { indexName: "harbour" } });
  await page.getByRole("link", { name: "later" }).click();
  await accessible(page);
  await page.getByRole("textbox", { name: "topK" }).fill("-1");
  await page.getByRole("button", { name: "Call the tool" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByText(/at least 1/).first().waitFor();
});

test("a server shows what was chosen, with its own names and address", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/tools?tab=servers", allowErrors: true });
  await page.getByText("No server of your own yet").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Create a server" }).first().click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Handbook!");
  await page.getByRole("button", { name: "Create the server" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("handbook");
  await page.getByLabel("Description").fill("Rules of the harbour");
  await page.getByRole("switch", { name: /^Tools: all/ }).click({ force: true });
  await page.getByRole("combobox", { name: "Tools" }).fill("vector_query");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab"); // closes the proposals
  await page.getByRole("button", { name: "Add a tool" }).click();
  await page.getByRole("combobox", { name: "Tool", exact: true }).fill("vector_query");
  await page.getByLabel("Name on this server").fill("find_rule");
  await accessible(page);
  await page.getByRole("button", { name: "Create the server" }).click();
  await page.waitForURL("**/servers/handbook");
  await page.getByText(`${process.env.RAGD_TEST_URL}/mcp/handbook`, { exact: true }).waitFor();
  await accessible(page);

  await page.getByRole("tab", { name: "Tools and prompts" }).click();
  await page.getByRole("link", { name: "find_rule" }).click();
  await page.getByRole("textbox", { name: "queryText" }).fill("Who boards ships?");
  await page.getByRole("button", { name: "Call the tool" }).click();
  await page.getByText(/pilot boards every ship/).first().waitFor();

  await page.goto(`${process.env.RAGD_TEST_URL}/servers/handbook?tab=definition`);
  await page.getByRole("textbox", { name: "Description" }).first().fill("");
  await page.getByRole("switch", { name: /^Tools: all/ }).click({ force: true });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const server = await tenant.call("ServerService/GetServer", { serverName: "handbook" });
  assert.deepEqual([server.tools, server.description], [undefined, ""]);
  await page.getByRole("tab", { name: "Registry" }).click();
  await page.getByText("registry", { exact: false }).first().waitFor();
  await accessible(page);
});

test("a prompt is made, tried, and keeps its versions", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/tools?tab=prompts", allowErrors: true });
  await page.getByText("No prompt of your own yet").waitFor();
  await page.getByRole("link", { name: "Create a prompt" }).first().click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("answer_customer");
  await page.getByRole("button", { name: "Add an argument" }).click();
  await page.getByRole("group", { name: "Arguments 1" }).getByRole("textbox", { name: "Name" }).fill("question");
  await page.getByLabel("Text").fill("Answer: {{arguments.question}} {{arguments.tone}}");
  await page.getByRole("button", { name: "Create the prompt" }).click();
  await page.getByRole("alert").getByText(/arguments.tone/).waitFor();
  await page.getByLabel("Text").fill("Answer: {{arguments.question}}");
  await accessible(page);
  await page.getByRole("button", { name: "Create the prompt" }).click();
  await page.waitForURL("**/prompts/answer_customer");

  await page.getByRole("button", { name: "Show the messages" }).click();
  await page.getByRole("alert").getByText(/required/).waitFor();
  await page.getByLabel("question").fill(hostile[0]);
  await page.getByRole("button", { name: "Show the messages" }).click();
  await page.getByText(`Answer: ${hostile[0]}`).waitFor();
  await harmless(page);
  await accessible(page);

  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByRole("button", { name: "Add a text" }).click();
  await page.getByRole("group", { name: "Messages 2" }).getByLabel("Text").fill("I quote.");
  await page.getByRole("button", { name: "Save a new version" }).click();
  await page.getByText("The latest version is 2.").waitFor();
  await page.goto(`${process.env.RAGD_TEST_URL}/prompts/answer_customer?version=1&tab=definition`);
  await page.getByText("An earlier version is not changed").waitFor();
  await page.getByRole("button", { name: "Delete version 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Save a new version" }).waitFor();
  const { versions } = await tenant.call("PromptService/GetPrompt", { promptName: "answer_customer" });
  assert.deepEqual(versions, [2]);
});

test("a key that may only read sees definitions, and is told why it cannot change them", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  await tenant.call("ToolService/CreateTool", { toolName: "find_rule", kind: "vector_query", title: hostile[0], description: hostile[2], settings: { indexName: "harbour" } });
  const key = await tenant.key({ scopes: ["read"] });
  const page = await openPage(t, { key, path: "/tools" });
  await page.getByRole("link", { name: "find_rule" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Create a tool" }).count(), 0);
  await page.getByRole("link", { name: "find_rule" }).click();
  await page.getByRole("tab", { name: "Definition" }).click();
  await page.getByText("Changing this needs a key with the scope write.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0);
  await harmless(page);
});

test("an operator without a tenant is told to choose one", async (t) => {
  const page = await openPage(t, { key: operator, path: "/tools" });
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  await accessible(page);
});

test("a key that is bound to tools or servers sees these, and is told why it sees nothing else", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "harbour", handbook);
  await tenant.call("ToolService/CreateTool", { toolName: "find_rule", kind: "vector_query", settings: { indexName: "harbour" } });
  await tenant.call("ServerService/CreateServer", { serverName: "handbook", tools: { names: ["find_rule"] }, presented: [{ toolName: "find_rule", name: "look" }] });
  for (const [bounds, name] of [[{ tools: { names: ["find_rule"] } }, "find_rule"], [{ servers: { names: ["handbook"] } }, "look"]]) {
    const page = await openPage(t, { key: await tenant.key({ scopes: ["read"], ...bounds }), path: "/" });
    await page.getByRole("heading", { name: "Your key is for tools alone" }).waitFor();
    assert.deepEqual(await page.getByRole("navigation", { name: "Main" }).getByRole("link").allTextContents(), [" Tools and servers", "API", "Licences"]);
    await accessible(page);
    await page.getByRole("link", { name: "Show the tools" }).click();
    await page.getByRole("link", { name }).click();
    await page.getByRole("textbox", { name: "queryText" }).fill("When does the gate open?");
    await page.getByRole("button", { name: "Call the tool" }).click();
    await page.getByText(/two hours before high water/).first().waitFor();
  }
});
