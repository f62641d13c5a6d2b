// The package as ESM, as CommonJS and in a bundle for browsers.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import vm from "node:vm";
import { newIndex, url } from "./service.mjs";

const tools = createRequire(`${process.env.RAGD_CLIENT_TOOLS}/`);
const { build } = tools("esbuild");

/** bundle returns a program bundled for browsers. */
async function bundle(contents) {
  const result = await build({ stdin: { contents, resolveDir: process.cwd() }, bundle: true, minify: true, platform: "browser", format: "iife", globalName: "page", write: false, logLevel: "silent" });
  return result.outputFiles[0].text;
}

test("CommonJS programs can require it", async (t) => {
  const require = createRequire(import.meta.url);
  const { Ragd, RagdError } = require("@ragd/client");
  const { uploadFile } = require("@ragd/client/node");
  const { TenantService } = require("@ragd/client/api");
  const index = await newIndex(t, new Ragd({ url, apiKey: process.env.RAGD_API_KEY }));
  await uploadFile(index, "package.json");
  const { sources } = await index.query("private");
  assert.equal(sources[0].uri, "package.json");
  await assert.rejects(index.query("x", { topK: 5000 }), (error) => error instanceof RagdError && error.code === "invalid_argument");
  assert.equal(TenantService.typeName, "ragd.v1.TenantService");
});

test("a bundle for browsers works with what a page has", async (t) => {
  const code = await bundle(`export { Ragd, RagdError } from "@ragd/client";`);
  assert.doesNotMatch(code, /node:/);
  const web = { AbortController, AbortSignal, Blob, DOMException, Event, EventTarget, File, Headers, ReadableStream, Request, Response, TextDecoder, TextEncoder, URL, clearTimeout, crypto, fetch, setTimeout, console };
  const page = vm.createContext({ ...web, Uint8Array, ArrayBuffer, TypeError });
  vm.runInContext(code, page);
  const { Ragd, RagdError } = vm.runInContext("page", page);
  const index = await newIndex(t, new Ragd({ url, apiKey: process.env.RAGD_API_KEY }));
  await index.upload(new File(["The gate opens."], "a.md"));
  assert.equal((await index.query("gate")).sources[0].uri, "a.md");
  const line = "The gate opens two hours before high water.\n\n";
  const pieces = new Blob([line.repeat((9 << 20) / line.length)]).stream();
  const { document } = await index.upload(pieces, { uri: "large.txt", wait: false, chunking: { maxSize: 100_000 } });
  assert.ok(document.byteSize > 8 << 20);
  await assert.rejects(index.query("gate", { topK: 5000 }), (error) => error instanceof RagdError && error.code === "invalid_argument");
});

test("a bundle has only the services that it uses", async () => {
  const one = await bundle(`export { Ragd } from "@ragd/client";`);
  const all = await bundle(`import * as api from "@ragd/client/api"; import { Ragd } from "@ragd/client"; console.log(api); export { Ragd };`);
  const none = await bundle(`export { RagdError } from "@ragd/client";`);
  console.log(`minified: ${one.length} bytes with Ragd, ${all.length} with all services, ${none.length} with RagdError alone`);
  assert.doesNotMatch(one, /WorkflowService|HookService/);
  assert.ok(one.length < all.length && none.length < one.length / 2);
});
