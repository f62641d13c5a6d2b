import assert from "node:assert/strict";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import test from "node:test";
import { accessible, handbook, harmless, hostile, newTenant, openPage, upload } from "./console.mjs";

/** folder writes files { path: text } below a new directory, and returns it. */
async function folder(files) {
  const dir = path.join(await mkdtemp(path.join(tmpdir(), "console-")), "handbook");
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(dir, name)), { recursive: true });
    await writeFile(path.join(dir, name), text);
  }
  return dir;
}

test("a folder is uploaded, searched in the list, and opened", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs" });
  await page.getByText("No documents yet").waitFor();
  await accessible(page);
  const dir = await folder({ "rules/tides.md": handbook["tides.md"], "berths.md": handbook["berths.md"], "broken.pdf": "%PDF-1.7\nnothing" });
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Choose a folder" }).click()]);
  await chooser.setFiles(dir);

  const uploads = page.getByRole("region", { name: "Uploads" }).last();
  await page.getByRole("status").getByText("3 files of 3 done, 1 failed").waitFor();
  assert.match(await uploads.getByRole("row", { name: /broken\.pdf/ }).textContent(), /PDF/);
  assert.match(await uploads.getByRole("link", { name: /berths\.md$/ }).getAttribute("href"), /^\/indexes\/docs\/documents\/[0-9a-f-]+$/);
  assert.equal(await uploads.getByRole("link", { name: /broken\.pdf/ }).count(), 0);
  await accessible(page);
  await page.getByRole("button", { name: "Close" }).click();

  await page.getByRole("link", { name: "Tides" }).waitFor();
  await page.getByText("2 documents").waitFor();
  await page.getByLabel("Search by path or title").fill("BERTH");
  await page.getByRole("link", { name: "Tides" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Berths" }).click();
  await page.getByRole("heading", { name: "Berths", level: 1 }).waitFor();

  await page.getByRole("button", { name: "Chunk 0" }).click();
  await page.getByRole("heading", { name: "Chunk 0" }).waitFor();
  assert.match(page.url(), /chunk=0/);
  await accessible(page);
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  assert.equal(saved.suggestedFilename(), "berths.md");
});

test("a file that the service refuses is not offered to be sent again", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs", allowErrors: true });
  await page.getByLabel("Files to upload").setInputFiles({ name: "data.bin", mimeType: "", buffer: Buffer.from([0, 1, 2, 3]) });
  await page.getByText(/binary data/).waitFor();
  await page.getByRole("button", { name: "Close" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Try the failed ones again" }).count(), 0);
});

test("the edges of a chunk lead to other documents", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", { "film.md": "# Dark River\n\nIt was directed by Clio Barnard.", "director.md": "# Clio Barnard\n\nShe grew up near Otley." });
  const { documents } = await tenant.call("DocumentService/ListDocuments", { indexName: "docs", search: "film" });
  const page = await openPage(t, { key: tenant.secret, path: `/indexes/docs/documents/${documents[0].documentId}?chunk=0` });
  const edge = page.getByRole("listitem").filter({ hasText: "names \"Clio Barnard\"" });
  await edge.getByRole("img", { name: "to", exact: true }).waitFor();
  await accessible(page);
  await edge.getByRole("link", { name: "Clio Barnard" }).click();
  await page.getByRole("heading", { name: "Clio Barnard", level: 1 }).waitFor();
  await page.getByRole("listitem").filter({ hasText: "Dark River" }).getByRole("img", { name: "from", exact: true }).waitFor();
});

test("documents are sorted by a column", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs" });
  const titles = async () => (await page.getByRole("region", { name: "Documents" }).getByRole("link").allTextContents()).join();
  for (const [button, want] of [["Document", "Alarms,Berths,Tides"], ["Document", "Tides,Berths,Alarms"]]) {
    const answered = page.waitForResponse((response) => response.url().includes("/ListDocuments"));
    await page.getByRole("button", { name: button, exact: true }).click();
    await answered;
    await page.waitForFunction((want) => [...document.querySelectorAll("tbody a")].map((a) => a.textContent).join() === want, want);
    assert.equal(await titles(), want);
  }
  assert.equal(await page.getByRole("columnheader", { name: "Document" }).getAttribute("aria-sort"), "descending");
  assert.match(page.url(), /order=title(\+|%20)desc/);
  await accessible(page);
});

test("chosen documents are deleted after a question", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs", width: 390 });
  await page.getByLabel("Choose alarms.md").check();
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog");
  await accessible(page);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("link", { name: "Alarms" }).waitFor({ state: "detached" });
  const { documents } = await tenant.call("DocumentService/ListDocuments", { indexName: "docs" });
  assert.deepEqual(documents.map((d) => d.uri).toSorted(), ["berths.md", "tides.md"]);
});

test("a key that may only read sees no way to change something", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const page = await openPage(t, { key: await tenant.key({ scopes: ["read"] }), path: "/indexes/docs" });
  await page.getByRole("link", { name: "Tides" }).waitFor();
  for (const name of ["Choose files", "Delete", "Create an index"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  assert.equal(await page.getByRole("tab", { name: "Settings" }).count(), 0);
  assert.equal(await page.getByRole("link", { name: "Keys and access" }).count(), 0);
});

test("the settings of an index are changed, and it is deleted", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs/settings", scheme: "dark", allowErrors: true });
  await page.getByLabel("Longest chunk").fill("400");
  await accessible(page);
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Later uploads are split so").waitFor();
  assert.equal((await tenant.call("IndexService/DescribeIndex", { indexName: "docs" })).chunking.maxSize, 400);
  await page.getByLabel("Longest chunk").fill("1");
  await page.getByLabel("Overlap").fill("7");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByRole("alert").getByText(/overlap/).first().waitFor();
  await page.getByRole("button", { name: "Delete the index" }).click();
  const sure = page.getByRole("dialog").getByRole("button", { name: "Delete" });
  assert.ok(await sure.isDisabled());
  await page.getByLabel("Type docs to confirm").fill("docs");
  await sure.click();
  await page.getByText("No index yet").waitFor();
});

test("builds report their progress", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs/building" });
  await page.getByRole("button", { name: "Rebuild" }).click();
  await page.getByRole("status").getByText("succeeded").waitFor();
  await accessible(page);
  await page.goto(new URL("/jobs", page.url()).href);
  await page.getByRole("row", { name: /graph/ }).first().waitFor();
  await accessible(page);
});

test("hostile and unusual documents are shown as text", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  const rtl = "# مرحبا\n\nيفتح البوابة قبل ساعتين من المد العالي.\n\n門は満潮の二時間前に開く。\n";
  await upload(tenant, "docs", { "rtl.md": rtl });
  for (const [i, text] of hostile.entries()) {
    const { document, job } = await tenant.call("DocumentService/UploadDocument", { indexName: "docs", uri: `${i}-${text}`, title: text, contentType: "text/plain", text: `${text}\n${text}`, metadata: { [text.slice(0, 20)]: text } });
    assert.ok(document && job);
  }
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs" });
  for (const text of hostile) await page.getByRole("link", { name: text, exact: true }).waitFor();
  await harmless(page);
  const { documents } = await tenant.call("DocumentService/ListDocuments", { indexName: "docs" });
  for (const { documentId } of documents) {
    await page.goto(new URL(`/indexes/docs/documents/${documentId}?chunk=0`, page.url()).href);
    await page.getByRole("heading", { name: "Chunk 0" }).waitFor();
    await harmless(page);
  }
});

test("ten thousand documents stay usable", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "docs" });
  for (let batch = 0; batch < 100; batch++) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => tenant.call("DocumentService/UploadDocument", { indexName: "docs", uri: `d${batch}-${i}.txt`, text: `Document ${batch} ${i}.` })));
  }
  const page = await openPage(t, { key: tenant.secret, path: "/indexes/docs" });
  for (let pages = 1; pages < 6; pages++) {
    await page.getByRole("button", { name: "Show more" }).click();
    await page.waitForFunction((n) => document.querySelectorAll("tbody tr").length >= n, 100 * (pages + 1));
  }
  await page.getByLabel("Search by path or title").fill("d99-99.");
  await page.getByRole("link", { name: "d99-99", exact: true }).waitFor(); // its title, made of the name
});

test("a long document is read in pages", async (t) => {
  const tenant = await newTenant();
  const line = "The gate opens two hours before high water. ";
  const text = Array.from({ length: 400 }, (_, i) => `## Section ${i}\n\n${line.repeat(100)}\n\n`).join(""); // 1.8 MB
  await upload(tenant, "docs", { "long.md": text });
  const { documents } = await tenant.call("DocumentService/ListDocuments", { indexName: "docs" });
  const page = await openPage(t, { key: tenant.secret, path: `/indexes/docs/documents/${documents[0].documentId}?chunk=1200` });
  await page.getByRole("heading", { name: "Chunk 1200" }).waitFor();
  await page.getByRole("button", { name: "After" }).click();
  await page.getByRole("heading", { name: "Chunk 1201" }).waitFor();
});
