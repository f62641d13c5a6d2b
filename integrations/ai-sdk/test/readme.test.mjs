// The example of README.md, with a model of the AI SDK for tests in place of a provider's.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";
import { client } from "./service.mjs";

test("the example of README.md runs", async (t) => {
  const index = client.index("handbook");
  await index.create();
  t.after(() => index.drop());
  await index.upload("The gate opens two hours before high water.", { uri: "tides.md" });
  const [, code] = (await readFile("README.md", "utf8")).match(/```ts\n(.*?)```/s);
  const provided = 'const model = "openai/gpt-5-mini";';
  assert.ok(code.includes(provided));
  await writeFile("example.mjs", `import { modelThat } from "./model.mjs";\n${code.replace(provided, 'const model = modelThat("search", { query: "when does the gate open?" });')}`);
  const { stdout } = await promisify(execFile)(process.execPath, ["example.mjs"]);
  assert.match(stdout, /Two hours before high water\./);
  assert.match(stdout, /tides\.md/);
});
