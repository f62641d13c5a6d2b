// Makes pictures of every screen in docs/images, light and dark, wide and narrow. Run by
// run.mjs: node console/test/run.mjs screenshots.mjs
import { execFileSync } from "node:child_process";
import { mkdir, readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { call, finished, launch, operator } from "./console.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const out = path.join(root, "docs/images");
const url = process.env.RAGD_TEST_URL;
const env = { ...process.env, RAGD_SERVER: url };

await call(operator, "TenantService/CreateTenant", { tenantId: "hof", displayName: "Hof Cheese" });
const { secret: key } = await call(operator, "TenantService/CreateApiKey", { tenantId: "hof", displayName: "console", scopes: ["admin"] });
env.RAGD_API_KEY = key;
const ragd = (...args) => execFileSync(path.join(root, "bin/ragd"), args, { env, cwd: root, encoding: "utf8" });
const rpc = (method, message) => call(key, method, message);

ragd("ingest", "--index", "handbook", "--base", "examples/handbook", "examples/handbook");
ragd("ingest", "--index", "docs", "--base", "docs", "docs");
await call(operator, "TenantService/CreateTenant", { tenantId: "mill", displayName: "The mill" });
await rpc("TenantService/CreateApiKey", { tenantId: "hof", displayName: "search page", scopes: ["read"] });
await rpc("AgentService/CreateAgent", { agentName: "helper", definition: { description: "Answers questions about the handbook.", model: "openai/gpt-5-mini", indexes: ["handbook"] } });
await rpc("ToolService/CreateTool", { toolName: "find_rule", kind: "vector_query", description: "Finds rules of the handbook.", settings: { indexName: "handbook", topK: 3 } });
await rpc("ServerService/CreateServer", { serverName: "handbook", title: "Handbook" });
await rpc("EvaluateService/CreateQuestionSet", { setName: "alarms", indexName: "handbook" });
const questions = (await readFile(path.join(root, "examples/questions.jsonl"), "utf8")).trim().split("\n").map((line) => {
  const { id, text, uris } = JSON.parse(line);
  return { questionId: id, text, relevant: uris.map((uri) => ({ uri })) };
});
await rpc("EvaluateService/PutQuestions", { setName: "alarms", questions });
const { job } = await rpc("EvaluateService/StartEvaluation", { setName: "alarms" });
await finished({ call: rpc }, job.jobId);
const { documents } = await rpc("DocumentService/ListDocuments", { indexName: "handbook", search: "on-call" });
const question = encodeURIComponent("who answers an ammonia alarm at night?");

const screens = {
  "sign-in": ["/", null],
  home: ["/"],
  index: ["/indexes/handbook"],
  settings: ["/indexes/handbook/settings"],
  building: ["/indexes/handbook/building"],
  document: [`/indexes/handbook/documents/${documents[0].documentId}?chunk=0`],
  ask: [`/ask?index=handbook&question=${question}`],
  compare: [`/ask?index=handbook&question=${question}&compare=1&mode=hybrid&b.mode=graph`],
  graph: [`/graph?index=handbook&question=${question}`],
  evaluate: ["/evaluate"],
  questions: ["/evaluate/sets/alarms"],
  agents: ["/agents"],
  agent: ["/agents/helper"],
  workflows: ["/workflows"],
  tools: ["/tools"],
  tool: ["/tools/find_rule"],
  connectors: ["/connectors"],
  hooks: ["/hooks"],
  keys: ["/keys"],
  jobs: ["/jobs"],
  activity: ["/activity"],
  usage: ["/usage"],
  audit: ["/audit"],
  palette: ["/", key, (page) => page.keyboard.press("Control+k")],
  tenants: ["/tenants", operator],
  tenant: ["/tenants/hof", operator],
  databases: ["/databases", operator],
};

await mkdir(out, { recursive: true });
const wanted = (process.env.SCREENS ?? "").split(",").filter(Boolean);
const browser = await launch();
for (const scheme of ["light", "dark"]) {
  for (const width of [1280, 390]) {
    for (const [name, [address, credential = key, act]] of Object.entries(screens)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      const context = await browser.newContext({ viewport: { width, height: width > 1000 ? 800 : 780 }, colorScheme: scheme, reducedMotion: "reduce" });
      if (credential) await context.request.post(`${url}/console/session`, { data: { key: credential }, headers: { Origin: url } });
      const page = await context.newPage();
      await page.goto(url + address);
      await page.waitForFunction(() => !document.querySelector("[aria-busy], .mantine-Loader-root, .mantine-Skeleton-root"));
      await act?.(page);
      await page.waitForTimeout(name === "graph" ? 3000 : 700);
      await page.screenshot({ path: path.join(out, `${name}-${scheme}-${width}.png`) });
      await context.close();
    }
  }
}
console.log(`${(await readdir(out)).length} pictures in ${path.relative(root, out)}`);
await browser.close();
