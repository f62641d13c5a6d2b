import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { BaseDocumentLoader } from "@langchain/core/document_loaders/base";
import { Document } from "@langchain/core/documents";
import { RunnableLambda } from "@langchain/core/runnables";
import { JobError, RagdError } from "@ragd/client";
import { RagdLoader, RagdRetriever, uploadDocuments } from "@ragd/langchain";
import { client, embeddings, newName } from "./service.ts";

/** Pages loads files page by page, as loaders of PDF files do. */
class Pages extends BaseDocumentLoader {
  override async load(): Promise<Document[]> {
    return [
      new Document({ pageContent: "The gate opens two hours before high water.", metadata: { source: "tides.txt", team: "harbour", page: 1 } }),
      new Document({ pageContent: "See LD-101 for the schedule.", metadata: { source: "tides.txt", team: "harbour", page: 2 } }),
      new Document({ pageContent: "LD-101: the schedule of the lock. Ships wait at the outer mooring.", metadata: { source: "schedule.txt", team: "harbour" } }),
      new Document({ pageContent: "Invoices are paid within thirty days.", metadata: { source: "office.txt", team: "office" } }),
    ];
  }
}

const indexName = newName();
const index = client.index(indexName);
before(async () => {
  await index.create();
});

describe("uploadDocuments", () => {
  it("uploads what a loader loads, one document for each source", async () => {
    const seen: string[] = [];
    const results = await uploadDocuments(index, new Pages(), { onProgress: ({ phase, uri }) => phase === "done" && seen.push(uri) });
    assert.deepEqual(results.map(({ document }) => [document.uri, document.status, document.metadata]), [
      ["tides.txt", "ready", { source: "tides.txt", team: "harbour" }],
      ["schedule.txt", "ready", { source: "schedule.txt", team: "harbour" }],
      ["office.txt", "ready", { source: "office.txt", team: "office" }],
    ]);
    assert.deepEqual(seen.sort(), ["office.txt", "schedule.txt", "tides.txt"]);
    const again = await uploadDocuments(index, await new Pages().load());
    assert.deepEqual(again.map(({ document }) => document.version), [1, 1, 1]);
  });

  it("needs a uri, and stops at an error", async () => {
    await assert.rejects(uploadDocuments(index, [new Document({ pageContent: "x" })]), (error) => error instanceof RagdError && /documents\[0\]: has no metadata.source/.test(error.message));
    const blank = [1, 2, 3].map((n) => new Document({ pageContent: n === 1 ? " " : "text", metadata: { n } }));
    const namespace = "stopped";
    await assert.rejects(uploadDocuments(index, blank, { uri: ({ metadata }) => `${metadata.n}.txt`, concurrency: 1, namespace }), (error) => error instanceof RagdError || error instanceof JobError);
    const stored = [];
    for await (const { uri } of index.documents({ namespace })) stored.push(uri);
    assert.deepEqual(stored.filter((uri) => uri !== "1.txt"), []);
  });
});

describe("RagdRetriever", () => {
  it("finds chunks with their origin", async () => {
    const retriever = new RagdRetriever({ client, indexName, query: { topK: 2, filter: { team: "harbour" } } });
    const [found] = await retriever.invoke("when does the gate open?");
    assert.match(found?.pageContent ?? "", /two hours before/);
    const { source, team, ordinal, startByte, score } = found?.metadata ?? {};
    assert.deepEqual({ source, team, ordinal, startByte }, { source: "tides.txt", team: "harbour", ordinal: 0, startByte: 0 });
    assert.ok(score > 0);
    assert.ok(found?.metadata.text === undefined);
    const none = await new RagdRetriever({ client, indexName, query: { filter: { team: "nobody" } } }).invoke("gate");
    assert.deepEqual(none, []);
  });

  it("reranks and walks the graph", async () => {
    const reranked = await new RagdRetriever({ client, indexName, query: { topK: 1, reranker: {} } }).invoke("when are invoices paid?");
    assert.deepEqual(reranked.map(({ metadata }) => metadata.source), ["office.txt"]);
    const walked = await new RagdRetriever({ client, indexName, graph: { topK: 2 } }).invoke("when does the gate open?");
    assert.deepEqual(walked.map(({ metadata }) => metadata.source).sort(), ["schedule.txt", "tides.txt"]);
  });

  it("is a part of chains, and reports errors", async () => {
    const retriever = new RagdRetriever({ client, indexName, query: { topK: 1 } });
    const chain = retriever.pipe(RunnableLambda.from((documents: Document[]) => documents[0]?.metadata.source as string));
    assert.deepEqual(await chain.batch(["when are invoices paid?", "when does the gate open?"]), ["office.txt", "tides.txt"]);
    const nowhere = new RagdRetriever({ client, indexName: "langchain_nowhere" });
    await assert.rejects(nowhere.invoke("x"), (error) => error instanceof RagdError && error.code === "not_found");
  });
});

describe("RagdLoader", () => {
  it("loads the texts of documents", async () => {
    const documents = await new RagdLoader({ client, indexName, filter: { team: "harbour" }, namespace: "default" }).load();
    assert.deepEqual(documents.map(({ metadata }) => metadata.source).sort(), ["schedule.txt", "tides.txt"]);
    const tides = documents.find(({ metadata }) => metadata.source === "tides.txt");
    assert.equal(tides?.pageContent, "The gate opens two hours before high water.\n\nSee LD-101 for the schedule.");
    assert.equal(tides?.metadata.team, "harbour");
  });

  it("loads texts longer than one answer, letter for letter", async () => {
    const namespace = "long";
    const text = "åäö gate 水 🚢\n".repeat(150_000);
    await index.upload(text, { uri: "long.txt", namespace, wait: false, chunking: { strategy: "character", maxSize: 200_000, overlap: 0 } });
    for (;;) {
      const { status } = await index.document({ uri: "long.txt", namespace });
      if (status === "ready") break;
      assert.ok(status === "pending" || status === "processing", status);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const [document] = await new RagdLoader({ client, indexName, namespace }).load();
    assert.ok(document?.pageContent === text || document?.pageContent === text.trimEnd(), "the text has changed");
  });
});

describe("RagdEmbeddings", () => {
  it("embeds texts in their order, also many", async () => {
    const texts = Array.from({ length: 2100 }, (_, n) => `text ${n}`);
    const vectors = await embeddings.embedDocuments(texts);
    assert.equal(vectors.length, texts.length);
    assert.deepEqual(vectors[2099], await embeddings.embedQuery("text 2099"));
    assert.deepEqual(await embeddings.embedDocuments([]), []);
  });
});
