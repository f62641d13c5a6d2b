// Starts the service on a database of its own and a browser, runs the tests of this folder with them,
// and stops both. Arguments are names of test files, such as home; default: all.
// RAGD names the binary; CHROMIUM, which must be set, is the path of the browser. With RAGD_TEST_SLOW=3000 each call
// of a page waits up to 3,000 ms by chance, so that what depends on the speed or the order of answers fails.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { startModel } from "./model.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const binary = path.resolve(process.env.RAGD ?? path.join(here, "../../bin/ragd"));

const dir = await mkdtemp(path.join(tmpdir(), "ragd-console-"));
const operatorKey = `operator-${crypto.randomUUID()}`;
const model = await startModel();
// Settings of the person who runs the tests are not the service's.
const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RAGD_")));
const service = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--log-level", "warn", "--allowed-private-networks", "127.0.0.0/8"], {
  env: {
    ...inherited,
    XDG_DATA_HOME: path.join(dir, "data"),
    XDG_CONFIG_HOME: path.join(dir, "config"),
    RAGD_OPERATOR_KEY: operatorKey,
    RAGD_OFFLINE: "true",
    RAGD_MIN_FREE_BYTES: "1", // a machine with little space left passes the tests
    RAGD_OPENAI_BASE_URL: model.url,
    RAGD_OPENAI_API_KEY: "test",
    RAGD_OPENAI_MODELS: "*",
  },
  stdio: ["ignore", "inherit", "pipe"],
});
const browser = await chromium.launchServer({
  executablePath: process.env.CHROMIUM,
  handleSIGINT: false, // stop closes it
  handleSIGTERM: false,
  args: [
    "--host-resolver-rules=MAP *.pages.test 127.0.0.1", // pages of other people
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu-compositing",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", // sigma.js draws with WebGL
  ],
});
const stop = async () => {
  await browser.close();
  service.kill("SIGTERM");
  await new Promise((resolve) => (service.exitCode === null ? service.once("exit", resolve) : resolve()));
  model.close();
  await rm(dir, { recursive: true, force: true });
};
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop().then(() => process.exit(1)));

const url = await new Promise((resolve, reject) => {
  createInterface({ input: service.stderr }).on("line", (line) => {
    const ready = /ready at (\S+)/.exec(line);
    if (ready) resolve(ready[1]);
    else console.error(line);
  });
  service.once("exit", (code) => reject(new Error(`the service ended with ${code} before it was ready`)));
});

const wanted = process.argv.slice(2);
const all = (await readdir(here)).filter((name) => name.endsWith(".test.mjs"));
const files = wanted.length > 0 ? wanted.map((name) => (name.endsWith(".mjs") ? name : `${name}.test.mjs`)) : all;
const script = files.length === 1 && !files[0].endsWith(".test.mjs");
const args = script ? files : ["--test", "--test-reporter=spec", "--test-concurrency=2", "--test-timeout=600000", ...files];
const tests = spawn(process.execPath, args, {
  cwd: here,
  env: { ...process.env, RAGD_TEST_URL: url, RAGD_TEST_OPERATOR_KEY: operatorKey, RAGD_TEST_BINARY: binary, RAGD_TEST_DIR: dir, RAGD_TEST_MODEL: model.url, RAGD_TEST_BROWSER: browser.wsEndpoint() },
  stdio: "inherit",
});
const code = await new Promise((resolve) => tests.once("exit", resolve));
await stop();
process.exit(code ?? 1);
