// The first five minutes: upload a folder, search it, filter, walk its graph, ask an agent.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { uploadFolder } from "@ragd/client/node";
import { connect, newIndex } from "./service.mjs";

test("from a folder of 50 files to an answer", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "ragd-"));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "locks"));
  for (let i = 1; i <= 48; i++) {
    await writeFile(join(folder, "locks", `lock-${i}.md`), `# Lock L-${i}\n\nThe keeper of lock L-${i} opens gate G-${i} two hours before high water.\n`);
  }
  await writeFile(join(folder, "locks", "ferry.md"), "# Ferry\n\nThe ferry waits below lock L-17 until the gate has opened.\n");
  await writeFile(join(folder, "empty.bin"), new Uint8Array([0, 1, 2, 3, 255, 254, 0]));
  await writeFile(join(folder, ".hidden.md"), "is left out");

  const client = connect();
  const index = await newIndex(t, client);
  const seen = [];
  const result = await uploadFolder(index, folder, { metadata: { team: "harbour" }, onProgress: (progress) => seen.push(progress) });
  assert.equal(result.uploaded.length, 49);
  assert.deepEqual(result.failed.map(({ uri }) => uri), ["empty.bin"]);
  assert.ok(["invalid_argument", "failed_precondition"].includes(result.failed[0].error.code), result.failed[0].error.message);
  assert.deepEqual({ ...seen.at(-1), uri: "" }, { uri: "", files: 50, sent: 50, processed: 50, failed: 1 });
  await index.upload("# Canteen\n\nThe canteen opens at noon.", { uri: "canteen.md", metadata: { team: "kitchen" } });

  const found = await index.query("when does gate G-23 open?", { topK: 3 });
  assert.equal(found.sources.length, 3);
  assert.equal(found.sources[0].uri, "locks/lock-23.md");
  assert.match(found.relevantContext, /two hours before high water/);

  const filtered = await index.query("when does it open?", { topK: 50, filter: { team: { $eq: "kitchen" } } });
  assert.deepEqual(filtered.sources.map(({ uri }) => uri), ["canteen.md"]);
  assert.equal(filtered.sources[0].metadata.team, "kitchen");

  const walked = await index.graph("where does the ferry wait?", { topK: 5, explain: true });
  assert.ok(walked.sources.some(({ uri }) => uri === "locks/ferry.md"));
  assert.ok(walked.explain.nodes.length > 0);

  let documents = 0;
  for await (const _ of index.documents()) documents++;
  assert.equal(documents, 50);

  const answer = client.ask(process.env.RAGD_TEST_AGENT, `When does gate G-23 open, by the index ${index.name}?`);
  const types = new Set();
  let text = "";
  for await (const event of answer) {
    types.add(event.type);
    if (event.type === "text") text += event.text;
  }
  assert.ok(types.has("step") && types.has("toolCall") && types.has("text") && types.has("answer"), [...types].join());
  const final = await answer.final();
  assert.notEqual(final.text, "");
  assert.equal(final.citations[0].uri, "locks/lock-23.md");
  assert.ok(text.includes(final.text.slice(0, 10)));
  assert.ok(final.usage.steps >= 1);
});
