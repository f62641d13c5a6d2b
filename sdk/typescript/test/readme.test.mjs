// The examples of README.md and of docs/how-to/typescript.md, run as they are.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { AgentService } from "@ragd/client/api";

before(async () => {
  await mkdir("handbook", { recursive: true });
  await writeFile("handbook/tides.md", "# Tides\n\nThe gate opens two hours before high water.\n");
});

for (const page of ["README.md", "typescript.md"]) {
  test(`the examples of ${page} run`, async (t) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RAGD_TEST_")));
    const agent = process.env.RAGD_TEST_AGENT; // none with a service as `make run` starts it
    if (agent) env.RAGD_AGENT = agent;
    if (page === "typescript.md") {
      const { connect } = await import("./service.mjs");
      const agents = connect().rpc(AgentService);
      const { definition } = await agents.getAgent({ agentName: agent });
      await agents.createAgent({ agentName: "pilot", definition });
      t.after(() => agents.deleteAgent({ agentName: "pilot" }));
    }
    const text = await readFile(page, "utf8");
    const blocks = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code).filter((code) => code.includes("@ragd/client"));
    assert.ok(blocks.length > 0);
    let printed = "";
    for (const [i, code] of blocks.entries()) {
      await writeFile(`example-${i}.mjs`, code);
      const { stdout } = await promisify(execFile)(process.execPath, [`example-${i}.mjs`], { env });
      assert.notEqual(stdout, "");
      printed += stdout;
    }
    assert.match(printed, page === "README.md" ? /1 files can be searched\n.* gate\.md # Gate/ : /tides\.md/);
    if (page === "README.md") assert.equal(/The documents answer this/.test(printed), agent !== undefined);
    if (page === "typescript.md") assert.match(printed, /\[1\] tides\.md, bytes 0 to \d+\n/);
  });
}
