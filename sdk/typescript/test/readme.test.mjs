// The examples of README.md, run as they are.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";

test("the examples of README.md run", async () => {
  await mkdir("handbook", { recursive: true });
  await writeFile("handbook/tides.md", "# Tides\n\nThe gate opens two hours before high water.\n");
  const blocks = [...(await readFile("README.md", "utf8")).matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code);
  assert.ok(blocks.length > 0);
  for (const [i, code] of blocks.entries()) {
    await writeFile(`example-${i}.mjs`, code);
    const { stdout } = await promisify(execFile)(process.execPath, [`example-${i}.mjs`], { env: { ...process.env, RAGD_AGENT: process.env.RAGD_TEST_AGENT } });
    assert.notEqual(stdout, "");
  }
});
