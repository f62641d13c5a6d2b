import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, finished, fits, handbook, newTenant, openPage, upload } from "./console.mjs";

const file = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../internal/ingest/parse/testdata/files/handbook.pdf");

/** harbour returns a tenant with a PDF file and texts. */
async function harbour() {
  const tenant = await newTenant();
  await upload(tenant, "docs", handbook);
  const { job } = await tenant.call("DocumentService/UploadDocument", { indexName: "docs", uri: "harbour.pdf", content: (await readFile(file)).toString("base64") });
  await finished(tenant, job.jobId);
  return tenant;
}

test("a result is shown on its page, and keys lead to the next one", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/ask?index=docs&question=what+does+a+night+cost+in+euros" });
  const pdf = page.getByRole("article").filter({ hasText: "Harbour handbook" }).first();
  await pdf.getByRole("link", { name: "Show the place" }).click();
  const picture = page.getByRole("img", { name: /^Page \d of Harbour handbook/ });
  await picture.waitFor();
  assert.ok(await picture.evaluate((img) => img.decode().then(() => img.naturalWidth)) > 1000);
  const best = page.locator("[data-kind=best]").first();
  await best.waitFor({ state: "attached" });
  const [mark, paper] = [await best.boundingBox(), await picture.boundingBox()];
  assert.ok(mark.x >= paper.x && mark.x + mark.width <= paper.x + paper.width + 1 && mark.y >= paper.y && mark.y + mark.height <= paper.y + paper.height + 1);
  await accessible(page);

  const hit = Number(new URL(page.url()).searchParams.get("hit"));
  await page.keyboard.press(hit === 1 ? "j" : "k");
  await page.waitForURL((url) => url.searchParams.get("hit") !== String(hit));
  await page.keyboard.press(hit === 1 ? "k" : "j");
  await picture.waitFor();

  // A key counts also while the page does not show the one before yet.
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.waitForURL((url) => url.searchParams.get("hit") === "1");
  await page.evaluate(() => {
    for (const key of ["j", "j"]) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code: `Key${key.toUpperCase()}`, bubbles: true }));
  });
  await page.waitForURL((url) => url.searchParams.get("hit") === "3");
});

test("a result in a text is shown in its text, on a telephone too", async (t) => {
  const tenant = await harbour();
  const page = await openPage(t, { key: tenant.secret, path: "/read?index=docs&question=when+does+the+gate+open&hit=1", scheme: "dark", width: 390 });
  await page.getByRole("navigation", { name: "Results" }).getByRole("button", { name: /^1\. / }).waitFor();
  await page.locator("mark", { hasText: "gate" }).first().waitFor();
  await fits(page);
  await accessible(page);
  await page.getByRole("button", { name: "Next result" }).click();
  await page.waitForURL(/hit=2/);
  await page.getByRole("link", { name: "Ask", exact: true }).first().waitFor();
});
