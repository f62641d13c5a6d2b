// Measures how long a newcomer's first steps on the page take, without the time to read and think:
// first-minute.mjs LINK FILE QUESTION. CHROMIUM names the browser.
import path from "node:path";
import { chromium } from "playwright-core";

const [link, file, question] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--no-first-run", "--disable-background-networking"] });
try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  page.setDefaultTimeout(60_000);
  const seconds = (from) => ((performance.now() - from) / 1000).toFixed(1);

  const opened = performance.now();
  await page.goto(link);
  await page.getByRole("link", { name: "handbook", exact: true }).waitFor(); // the index that make run has made
  console.log(`link to page signed in: ${seconds(opened)} s`);

  const signedIn = performance.now();
  await page.getByRole("button", { name: "Create an index" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("mine");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForURL("**/indexes/mine");
  await page.locator("input[type=file]").first().setInputFiles(file);
  await page.getByRole("status").getByText("1 file of 1 done").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.goto(new URL(`/ask?index=mine`, link).href);
  await page.getByLabel("Question").fill(question);
  await page.keyboard.press("Enter");
  await page.getByRole("article", { name: "Result 1" }).getByText(path.basename(file)).first().waitFor();
  console.log(`page to first own upload searched: ${seconds(signedIn)} s`);
} finally {
  await browser.close();
}
