// Texts are shown as people read them.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, harmless, newTenant, openPage, upload } from "./console.mjs";

const guide = `# Harbour guide

The **pilot** boards at the *outer buoy*. See the [rules](https://example.com/rules), the [yard](javascript:window.executed=true) and [mail](mailto:pilot@example.com).

## Fees

| berth | fee |
| --- | ---: |
| North 1 | 30 crowns |
| South 2 | 12 crowns |

- [x] pay the fee
- moor the ship
  1. bow line
  2. stern line

\`\`\`sh
gate --open north
\`\`\`

![the gate](https://tracker.example.com/gate.png) <b onclick="window.executed=true">bold?</b>
`;

/** long is a chunk whose best sentence stands in the middle. */
const filler = (word) => Array.from({ length: 14 }, (_, i) => `The ${word} number ${i} is painted in spring by the crew of the yard.`).join(" ");
const long = `# Sluice\n\n${filler("bollard")}\n\nThe **sluice** keeper opens the sluice at **dawn & dusk**.\n\n${filler("lantern")}\n`;

async function library() {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs", chunking: { maxSize: 4000 } });
  await upload(tenant, "docs", { "guide.md": guide, "sluice.md": long });
  return tenant;
}

for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  test(`a result reads as it was written, ${width} pixels wide`, async (t) => {
    const tenant = await library();
    const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&mode=keyword&question=pilot+fee+berth+gate", width, scheme });
    const card = page.getByRole("article").filter({ hasText: "outer buoy" });
    await card.getByRole("heading", { name: "Harbour guide" }).waitFor();
    assert.equal(await card.locator("strong mark").first().textContent(), "pilot"); // marked inside of bold text
    assert.deepEqual(await card.getByRole("region", { name: "Table" }).getByRole("cell").allTextContents(), ["North 1", "30 crowns", "South 2", "12 crowns"]);
    assert.equal((await card.locator("pre code").textContent()).trim(), "gate --open north");
    assert.equal(await card.locator("li ol li").count(), 2);
    const rules = card.getByRole("link", { name: "rules" });
    assert.deepEqual([await rules.getAttribute("href"), await rules.getAttribute("rel"), await rules.getAttribute("target")], ["https://example.com/rules", "noopener noreferrer", "_blank"]);
    assert.equal(await card.getByRole("link", { name: "mail" }).getAttribute("href"), "mailto:pilot@example.com");
    assert.equal(await card.getByRole("link", { name: "yard" }).count(), 0);
    assert.equal(await card.locator("img").count(), 0); // the test fails, too, if the page calls another host
    await card.getByRole("link", { name: "Picture: the gate" }).waitFor();
    await card.getByText("<b onclick").waitFor();
    assert.doesNotMatch(await card.innerText(), /\*\*|\|/);
    await accessible(page);

    await page.getByLabel("Raw text").check();
    await card.getByText("**").waitFor();
    await page.reload();
    await card.getByText("| --- | ---: |").waitFor(); // the choice is kept
    await page.getByLabel("Raw text").uncheck();
    await card.getByRole("heading", { name: "Harbour guide" }).waitFor();
    await harmless(page);
  });
}

test("of a long passage the best sentences are shown first", async (t) => {
  const tenant = await library();
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&mode=keyword&question=sluice+keeper+dawn" });
  const card = page.getByRole("article").filter({ hasText: "keeper" });
  await card.locator("strong", { hasText: "dawn & dusk" }).waitFor();
  assert.deepEqual(await card.locator("mark").allTextContents(), ["sluice", "keeper", "sluice", "dawn"]);
  assert.doesNotMatch(await card.innerText(), /bollard number 0 |lantern number 13 /);
  await card.getByText("Sluice", { exact: true }).first().waitFor();
  const more = card.getByRole("button", { name: "Show the whole passage" });
  await more.focus();
  await page.keyboard.press("Enter");
  await card.getByText("bollard number 0 ").waitFor();
  await card.getByText("lantern number 13 ").waitFor();
  await card.getByRole("button", { name: "Show the best sentences" }).click();
  await card.getByText("lantern number 13 ").waitFor({ state: "detached" });
});

test("a document is read in the form that it was written in, over the borders of its chunks", async (t) => {
  const tenant = await newTenant();
  const rows = Array.from({ length: 60 }, (_, i) => `| pier ${i} | a place of ${i} metres for ships |`).join("\n");
  const text = `# Piers\n\n| pier | use |\n| --- | --- |\n${rows}\n\nThe *last* pier is closed.\n`;
  await tenant.call("IndexService/CreateIndex", { indexName: "docs", chunking: { maxSize: 600 } });
  await upload(tenant, "docs", { "piers.md": text, "notes.txt": "**not** Markdown\n| a | b |\n" });
  const { documents } = await tenant.call("DocumentService/ListDocuments", { indexName: "docs" });
  const id = (uri) => documents.find((d) => d.uri === uri).documentId;
  const page = await openPage(t, { key: tenant.secret, path: `/indexes/docs/documents/${id("piers.md")}`, width: 390 });
  await page.getByRole("cell", { name: "pier 0", exact: true }).waitFor();
  await page.locator("[id^=chunk-]").last().scrollIntoViewIfNeeded();
  await page.locator("em", { hasText: "last" }).waitFor();
  const table = page.getByRole("region", { name: "Table" }).last();
  await page.getByRole("cell", { name: "pier 59", exact: true }).waitFor();
  assert.ok(await page.getByRole("region", { name: "Table" }).count() > 1, "one chunk has it all");
  assert.deepEqual(await table.getByRole("columnheader").allTextContents(), ["pier", "use"]);
  await accessible(page);

  await page.goto(new URL(`/indexes/docs/documents/${id("notes.txt")}`, page.url()).href);
  await page.getByText("**not** Markdown").waitFor();
});
