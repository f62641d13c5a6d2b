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
ragd("ingest", "--index", "files", "--base", "internal/ingest/parse/testdata/files", "internal/ingest/parse/testdata/files/handbook.pdf");
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
const { evaluationId, job } = await rpc("EvaluateService/StartEvaluation", { setName: "alarms" });
await finished({ call: rpc }, job.jobId);
const { evaluationId: walked, job: second } = await rpc("EvaluateService/StartEvaluation", { setName: "alarms", graph: {}, label: "with the graph" });
await finished({ call: rpc }, second.jobId);
await rpc("PromptService/CreatePrompt", { promptName: "handover", description: "Writes a handover.", arguments: [{ name: "shift", description: "day or night", required: true }], messages: [{ role: "user", text: "Write the handover of the {{arguments.shift}} shift." }] });
await rpc("WorkflowService/CreateWorkflow", {
  workflowName: "rule", definition: {
    description: "Looks a rule up, and asks somebody whether it still holds.",
    inputSchema: { type: "object", properties: { about: { type: "string" } }, required: ["about"] },
    steps: [
      { id: "find", kind: "query", input: { indexName: { value: "handbook" }, queryText: { initData: true, path: "about" }, topK: { value: 1 } } },
      { id: "approval", kind: "wait", message: "Does this rule still hold?", schema: { type: "object", properties: { holds: { type: "boolean" } }, required: ["holds"] } },
      { id: "answer", kind: "map", input: { rule: { step: "find", path: "sources.0.document" } } },
    ],
  },
});
const { runId } = await rpc("WorkflowService/StartWorkflow", { workflowName: "rule", input: { about: "ammonia alarms" } });
await rpc("ConnectorService/CreateConnector", { connectorName: "website", indexName: "docs", description: "The website of the dairy.", paused: true, web: { url: process.env.RAGD_TEST_MODEL } });
await rpc("HookService/CreateHook", { hookName: "news", url: process.env.RAGD_TEST_MODEL, events: ["*"], description: "Tells the board of the shift." });
const { alertId } = await rpc("AlertService/CreateAlert", { indexName: "handbook", queryText: "who is on call at night?", searchMode: "hybrid", minScore: 0.2, displayName: "Night shifts" });
await rpc("AlertService/CreateAlert", { indexName: "docs", queryText: "release", searchMode: "keyword", displayName: "Releases", paused: true });
for (const [uri, team, text] of [["rota/week-48.md", "control room", "# Rota of week 48\n\nOn call at night is Imke; the number is that of the control room."], ["rota/week-49.md", "cold stores", "# Rota of week 49\n\nOn call at night is Jonas until Thursday, then Imke."]]) {
  const { job } = await rpc("DocumentService/UploadDocument", { indexName: "handbook", uri, text, metadata: { team, kind: "rota" } });
  await finished({ call: rpc }, job.jobId);
}
for (const queryText of ["who repairs the zeppelin?", "where is the swimming pool of the dairy?"]) await rpc("QueryService/VectorQuery", { indexName: "handbook", queryText, minScore: 0.9 });
while (!(await rpc("IndexService/ListNotableQuestions", { kind: "unanswered" })).questions) await new Promise((resolve) => setTimeout(resolve, 500));
await rpc("IndexService/CreateRankingProfile", { indexName: "handbook", profileName: "rota-first", ranking: { boosts: [{ filter: { kind: "rota" }, weight: 0.5 }] } });
const { documents } = await rpc("DocumentService/ListDocuments", { indexName: "handbook", search: "on-call" });
const question = encodeURIComponent("who answers an ammonia alarm at night?");

const screens = {
  "sign-in": ["/", null],
  home: ["/"],
  questions: ["/", key, (page) => page.getByRole("region", { name: "Questions to look at" }).scrollIntoViewIfNeeded()],
  index: ["/indexes/handbook"],
  settings: ["/indexes/handbook/settings"],
  building: ["/indexes/handbook/building"],
  document: [`/indexes/handbook/documents/${documents[0].documentId}?chunk=0`],
  ask: [`/ask?index=handbook&question=${question}`],
  read: ["/read?index=files&question=what+does+a+night+cost%3F&hit=1"],
  compare: [`/ask?index=handbook&question=${question}&compare=1&mode=hybrid&b.mode=graph`],
  graph: [`/graph?index=handbook&question=${question}`],
  alerts: ["/alerts"],
  alert: [`/alerts/${alertId}`],
  "alert-preview": [`/alerts/${alertId}?tab=definition`, key, (page) => page.getByRole("region", { name: "What would match" }).evaluate((region) => { region.scrollIntoView({ block: "start" }); window.scrollBy(0, -72); })],
  evaluate: ["/evaluate"],
  "question-set": ["/evaluate/sets/alarms"],
  run: [`/evaluate/runs/${evaluationId}`],
  "compare-runs": [`/evaluate/compare?baseline=${evaluationId}&candidate=${walked}`],
  agents: ["/agents"],
  agent: ["/agents/helper"],
  workflows: ["/workflows"],
  workflow: ["/workflows/rule"],
  "workflow-run": [`/workflows/rule/runs/${runId}`],
  tools: ["/tools"],
  tool: ["/tools/find_rule"],
  servers: ["/tools?tab=servers"],
  server: ["/servers/handbook"],
  prompts: ["/tools?tab=prompts"],
  prompt: ["/prompts/handover"],
  connectors: ["/connectors"],
  connector: ["/connectors/website"],
  hooks: ["/hooks"],
  hook: ["/hooks/news"],
  keys: ["/keys"],
  endpoints: ["/keys/endpoints"],
  secrets: ["/keys/secrets"],
  issuers: ["/keys/issuers"],
  context: ["/keys/context"],
  jobs: ["/jobs"],
  activity: ["/activity"],
  usage: ["/usage"],
  audit: ["/audit"],
  palette: ["/", key, (page) => page.keyboard.press("Control+k")],
  tenants: ["/tenants", operator],
  tenant: ["/tenants/hof", operator],
  databases: ["/databases", operator],
};

const loaded = (page) => page.waitForFunction(() => document.querySelector("h1, h2") && !document.querySelector("[aria-busy=true], .mantine-Loader-root, .mantine-Skeleton-root"));

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
      await loaded(page);
      await act?.(page);
      await page.waitForTimeout(name === "graph" ? 3000 : 700);
      await loaded(page); // what the first answers have asked for
      await page.screenshot({ path: path.join(out, `${name}-${scheme}-${width}.png`) });
      await context.close();
    }
  }
}
console.log(`${(await readdir(out)).length} pictures in ${path.relative(root, out)}`);
await browser.close();
