import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { JobError, RagdError } from "@ragd/client";
import { uploadFile, uploadFolder } from "@ragd/client/node";
import { connect, newIndex, otherTenant, proxy } from "./service.mjs";

const text = "# Tides\n\nThe gate opens two hours before high water.";

/** large returns a text of more bytes than fit in one message. */
function large() {
  const line = "The gate opens two hours before high water, and the keeper writes the time into the log.\n\n";
  return new TextEncoder().encode(line.repeat(Math.ceil((18 << 20) / line.length)));
}

async function collect(pieces) {
  const parts = [];
  for await (const piece of pieces) parts.push(piece);
  return Buffer.concat(parts);
}

test("texts, bytes, files and streams are stored as they are", async (t) => {
  const index = await newIndex(t);
  const bytes = new TextEncoder().encode(text);
  const sources = {
    "text.md": text,
    "bytes.md": bytes,
    "buffer.md": bytes.buffer,
    "blob.md": new Blob([bytes], { type: "text/markdown" }),
    "stream.md": new Blob([bytes]).stream(),
    "generator.md": (async function* () {
      yield bytes.subarray(0, 9);
      yield bytes.subarray(9);
    })(),
  };
  for (const [uri, source] of Object.entries(sources)) {
    const { document, job } = await index.upload(source, { uri, metadata: { uri } });
    assert.equal(document.status, "ready", uri);
    assert.equal(document.uri, uri);
    assert.equal(job.status, "succeeded");
    assert.equal((await collect(index.download({ uri }))).toString(), text, uri);
  }
  const named = await index.upload(new File([bytes], "named.md"));
  assert.equal(named.document.uri, "named.md");
  assert.equal((await index.read({ uri: "named.md" })).text, text);
  const chunks = [];
  for await (const chunk of index.chunks(named.document.documentId)) chunks.push(chunk.text);
  assert.match(chunks.join("\n"), /two hours/);
  const uris = [];
  for await (const document of index.documents({ search: "buf" })) uris.push(document.uri);
  assert.deepEqual(uris, ["buffer.md"]);
});

test("the same content again changes nothing, other content replaces it", async (t) => {
  const index = await newIndex(t);
  const first = await index.upload(text, { uri: "a.md" });
  const second = await index.upload(text, { uri: "a.md" });
  assert.equal(second.document.version, first.document.version);
  assert.equal(second.job.jobId, first.job.jobId);
  const third = await index.upload(`${text} Twice a day.`, { uri: "a.md" });
  assert.equal(third.document.version, first.document.version + 1);
});

for (const [name, source] of [
  ["a stream", () => new Blob([large()]).stream()],
  ["a Blob", () => new Blob([large()])],
  ["bytes", () => large()],
]) {
  test(`${name} larger than a message is sent in pieces`, async (t) => {
    const index = await newIndex(t);
    const size = large().length;
    const seen = [];
    const { document } = await index.upload(source(), {
      uri: "large.txt",
      wait: false,
      chunking: { maxSize: 100_000 },
      onProgress: (progress) => seen.push(progress),
    });
    assert.equal(document.byteSize, size);
    assert.equal(seen[0].sentBytes, 0);
    assert.equal(seen.at(-1).sentBytes, size);
    assert.equal(seen.at(-1).phase, "done");
  });
}

test("progress tells what is sent and processed", async (t) => {
  const index = await newIndex(t);
  const seen = [];
  await index.upload(text, { uri: "a.md", onProgress: (progress) => seen.push(progress) });
  assert.deepEqual([...new Set(seen.map(({ phase }) => phase))], ["sending", "processing", "done"]);
  assert.equal(seen.at(-1).sentBytes, seen.at(-1).totalBytes);
});

test("a document that cannot be processed is a JobError", async (t) => {
  const index = await newIndex(t);
  const broken = new TextEncoder().encode("%PDF-1.7\nthis is no PDF");
  await assert.rejects(index.upload(broken, { uri: "broken.pdf" }), (error) => {
    assert.ok(error instanceof JobError && error instanceof RagdError);
    assert.equal(error.code, "failed_precondition");
    assert.equal(error.job.status, "failed");
    assert.match(error.message, /^broken\.pdf: /);
    return true;
  });
});

test("an upload ends with its signal", async (t) => {
  const index = await newIndex(t);
  const reason = new Error("enough");
  const stop = new AbortController();
  const closed = new EventTarget();
  const close = new Promise((resolve) => closed.addEventListener("close", resolve));
  async function* endless() {
    try {
      for (let i = 0; ; i++) {
        if (i === 20) stop.abort(reason);
        yield new Uint8Array(1 << 20).fill(97);
        await new Promise(setImmediate);
      }
    } finally {
      closed.dispatchEvent(new Event("close"));
    }
  }
  await assert.rejects(index.upload(endless(), { uri: "endless.txt", signal: stop.signal }), reason);
  await close; // the source is not read any further
});

test("wrong sources and limits are errors that name the field", async (t) => {
  const index = await newIndex(t);
  const codeOf = (source, options) => index.upload(source, options).then(() => "stored", (error) => `${error.code} ${error.fieldViolations[0]?.field}`);
  assert.equal(await codeOf(undefined), "invalid_argument source");
  assert.equal(await codeOf({ some: "object" }), "invalid_argument source");
  assert.equal(await codeOf((async function* () { yield "text"; })()), "invalid_argument source");
  assert.equal(await codeOf(text, { uri: "u".repeat(3000) }), "invalid_argument uri");
  assert.equal(await codeOf(new Blob([large()]), { uri: "u".repeat(3000) }), "invalid_argument uri");
});

test("a broken connection does not lose a large file", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "ragd-"));
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, "large.txt"), large());
  const index = await newIndex(t);
  let broken = 0;
  const front = await proxy(t, (request, response) => {
    if (!request.url.endsWith("/UploadDocuments") || broken++ > 0) return false;
    response.destroy();
    return true;
  });
  const through = connect({ url: front.url, retry: { initialDelayMs: 10 } }).index(index.name);
  const { document } = await uploadFile(through, join(dir, "large.txt"), { uri: "large.txt", wait: false, chunking: { maxSize: 100_000 } });
  assert.equal(document.byteSize, large().length);
  assert.equal(broken, 2);
});

test("uris are no absolute paths", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "ragd-"));
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, "a.md"), text);
  const index = await newIndex(t);
  assert.equal((await uploadFile(index, join(dir, "a.md"))).document.uri, "a.md");
  const { uploaded } = await uploadFolder(index, dir, { base: tmpdir() });
  assert.deepEqual(uploaded.map(({ uri }) => uri), [`${basename(dir)}/a.md`]);
  await assert.rejects(uploadFolder(index, dir, { base: join(dir, "below") }), { code: "invalid_argument", message: /^base: must be a folder above/ });
});

test("a folder stops at an error of all its files", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "ragd-"));
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, "a.md"), text);
  await assert.rejects(uploadFolder(connect().index("nowhere"), dir), { code: "not_found" });
});

test("documents are deleted, and another tenant does not see them", async (t) => {
  const client = connect();
  const index = await newIndex(t, client);
  await index.upload(text, { uri: "a.md", metadata: { team: "harbour" } });
  await index.upload(text, { uri: "b.md" });

  const theirs = (await otherTenant(t)).index(index.name);
  await assert.rejects(theirs.query("gate"), { code: "not_found" });
  await assert.rejects(theirs.delete({ uris: ["a.md"] }), { code: "not_found" });
  await theirs.create();
  assert.deepEqual((await theirs.query("gate")).sources, []);
  assert.equal((await theirs.delete({ uris: ["a.md"] })).deletedCount, 0);
  await assert.rejects(theirs.document({ uri: "a.md" }), { code: "not_found" });

  assert.equal((await index.delete({ filter: { team: "harbour" }, dryRun: true })).deletedCount, 1);
  assert.equal((await index.delete({ filter: { team: "harbour" } })).deletedCount, 1);
  assert.equal((await index.delete({ uris: ["b.md"] })).deletedCount, 1);
  assert.equal((await index.describe()).documentCount, 0);
});
