// usage: node shot.mjs URL OUT [width] [scheme]
import { chromium } from "playwright-core";
const [,, url, out, width = "1280", scheme = "light"] = process.argv;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: 900 }, colorScheme: scheme });
page.on("console", (m) => console.log(m.type(), m.text().slice(0, 300)));
page.on("pageerror", (e) => console.log("pageerror", e.message));
await page.goto(url); await page.waitForTimeout(4000);
await page.screenshot({ path: out, fullPage: !!process.env.FULL });
await browser.close();
