// The examples of README.md and of docs/how-to/typescript.md, run as they are.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { AgentService } from "@ragd/client/api";
import { connect } from "./service.mjs";

before(async () => {
  await mkdir("handbook", { recursive: true });
  await writeFile("handbook/tides.md", "# Tides\n\nThe gate opens two hours before high water.\n");
});

for (const page of ["README.md", "typescript.md"]) {
  test(`the examples of ${page} run`, async (t) => {
    const agents = connect().rpc(AgentService);
    const { definition } = await agents.getAgent({ agentName: process.env.RAGD_TEST_AGENT });
    if (page === "typescript.md") {
      await agents.createAgent({ agentName: "pilot", definition });
      t.after(() => agents.deleteAgent({ agentName: "pilot" }));
    }
    const text = await readFile(page, "utf8");
    const blocks = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code).filter((code) => code.includes("@ragd/client"));
    assert.ok(blocks.length > 0);
    let printed = "";
    for (const [i, code] of blocks.entries()) {
      await writeFile(`example-${i}.mjs`, code);
      const { stdout } = await promisify(execFile)(process.execPath, [`example-${i}.mjs`], { env: { ...process.env, RAGD_AGENT: process.env.RAGD_TEST_AGENT } });
      assert.notEqual(stdout, "");
      printed += stdout;
    }
    assert.match(printed, /tides\.md/);
    if (page === "typescript.md") assert.match(printed, /\[1\] tides\.md, bytes 0 to \d+\n/);
  });
}
