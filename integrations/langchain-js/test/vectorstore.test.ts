import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Document } from "@langchain/core/documents";
import { index, RecordManager, type ListKeyOptions, type UpdateOptions } from "@langchain/core/indexing";
import { RagdError } from "@ragd/client";
import { RagdVectorStore } from "@ragd/langchain";
import { client, embeddings, newName } from "./service.ts";

const documents = [
  new Document({ id: "gate", pageContent: "The lock gate opens two hours before high water.", metadata: { team: "harbour", year: 2024 } }),
  new Document({ id: "mooring", pageContent: "Ships wait for high water at the outer mooring.", metadata: { team: "harbour", year: 2025 } }),
  new Document({ id: "invoices", pageContent: "Invoices are paid within thirty days.", metadata: { team: "office", year: 2025, tags: ["money", { deep: null }] } }),
];

const stored = () => RagdVectorStore.fromDocuments(documents, embeddings, { client, indexName: newName() });

describe("RagdVectorStore", () => {
  it("finds documents by their meaning, with ids and metadata", async () => {
    const store = await stored();
    const [first] = await store.similaritySearch("when are invoices paid?", 1);
    assert.deepEqual({ ...first }, { ...documents[2] });
    const scored = await store.similaritySearchWithScore("when does the lock gate open?", 3);
    assert.deepEqual(scored.map(([document]) => document.id)[0], "gate");
    assert.ok(scored.every(([, score], n) => n === 0 || score <= (scored[n - 1] as [Document, number])[1]));
  });

  it("filters", async () => {
    const store = await stored();
    const ids = async (filter: Record<string, unknown>) => (await store.similaritySearch("water", 10, filter)).map(({ id }) => id).sort();
    assert.deepEqual(await ids({ team: "harbour" }), ["gate", "mooring"]);
    assert.deepEqual(await ids({ year: { $gte: 2025 } }), ["invoices", "mooring"]);
    assert.deepEqual(await ids({ $or: [{ team: "office" }, { year: 2024 }] }), ["gate", "invoices"]);
    assert.deepEqual(await ids({ team: /^OFF/i }), ["invoices"]);
    await assert.rejects(ids({ year: { $near: 1 } }), (error) => error instanceof RagdError && error.code === "invalid_argument" && /Unsupported operator/.test(error.message));
    await assert.rejects(ids({ team: undefined }), /team is undefined/);
  });

  it("makes retrievers", async () => {
    const store = await stored();
    const retriever = store.asRetriever({ k: 1, filter: { team: "harbour" } });
    const found = await retriever.invoke("when are invoices paid?");
    assert.equal(found.length, 1);
    assert.equal(found[0]?.metadata.team, "harbour");
    const diverse = store.asRetriever({ k: 2, searchType: "mmr", searchKwargs: { fetchK: 3, lambda: 0 } });
    const [first, second] = await diverse.invoke("high water");
    assert.notEqual(first?.id, second?.id);
    assert.equal(new Set([first?.metadata.team, second?.metadata.team]).size, 2);
  });

  it("prefers given ids to those of documents, replaces by id, and deletes", async () => {
    const indexName = newName();
    const store = await RagdVectorStore.fromTexts(["one", "two"], [{ n: 1 }, { n: 2 }], embeddings, { client, indexName });
    const ids = await store.addDocuments([documents[0] as Document, new Document({ pageContent: "three" })]);
    assert.equal(ids[0], "gate");
    assert.deepEqual(await store.addDocuments([documents[0] as Document], { ids: ["given"] }), ["given"]);
    await store.addDocuments([new Document({ pageContent: "four", metadata: { n: 4 } })], { ids: ["given"] });
    const count = async () => (await client.index(indexName).describe()).count;
    assert.equal(await count(), 5);
    await store.delete({ ids: ["given", "unknown"] });
    await store.delete({ ids: [] });
    assert.equal(await count(), 4);
    await store.delete({ filter: { n: { $lte: 2 } } });
    assert.equal(await count(), 2);
    await assert.rejects(store.delete(), /Either filter or ids must be provided/);
    await assert.rejects(store.delete({ ids: ["a"], filter: { n: 1 } }), /mutually exclusive/);
    await assert.rejects(store.delete({ filter: {} }), /empty filter/);
    assert.equal(await count(), 2);
  });

  it("keeps namespaces apart", async () => {
    const indexName = newName();
    const options = { client, indexName, namespace: "other" };
    await RagdVectorStore.fromDocuments(documents, embeddings, { client, indexName });
    const other = await RagdVectorStore.fromTexts(["The other gate."], { other: true }, embeddings, options);
    const found = await other.similaritySearch("gate", 10);
    assert.deepEqual(found.map(({ pageContent, metadata }) => [pageContent, metadata]), [["The other gate.", { other: true }]]);
    await other.delete({ filter: { other: true } });
    assert.equal((await client.index(indexName).describe()).count, documents.length);
  });

  it("creates an index with its settings once", async () => {
    const indexName = newName();
    const options = { client, indexName, indexSettings: { metric: "euclidean" } };
    await RagdVectorStore.fromDocuments([], embeddings, options);
    await RagdVectorStore.fromDocuments(documents, embeddings, options);
    const { metric, count } = await client.index(indexName).describe();
    assert.deepEqual({ metric, count }, { metric: "euclidean", count: 3 });
  });

  it("reads what others have stored", async () => {
    const index = client.index(newName());
    await index.create();
    await index.upload("# Tides\n\nThe gate opens two hours before high water.", { uri: "tides.md", metadata: { team: "harbour" } });
    const store = new RagdVectorStore(embeddings, { client, indexName: index.name });
    const [found] = await store.similaritySearch("when does the gate open?", 1);
    assert.match(found?.pageContent ?? "", /two hours before/);
    assert.equal(found?.metadata.team, "harbour");
  });

  it("refuses what does not fit together", async () => {
    const store = await stored();
    await assert.rejects(store.addVectors([[1]], []), /vectors: there are 1 for 0 documents/);
    await assert.rejects(store.addDocuments(documents, { ids: ["a"] }), /ids: there are 1 for 3 documents/);
    await assert.rejects(store.addVectors([[1, 2]], [documents[0] as Document]), /dimension/);
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    await assert.rejects(store.addDocuments([new Document({ pageContent: "x", metadata: circular })]), /documents\[0\].metadata: cannot be written as JSON/);
    const nowhere = new RagdVectorStore(embeddings, { client, indexName: "langchain_nowhere" });
    await assert.rejects(nowhere.similaritySearch("x"), (error) => error instanceof RagdError && error.code === "not_found");
  });

  it("works with LangChain's indexing", async () => {
    const indexName = newName();
    const vectorStore = await RagdVectorStore.fromDocuments([], embeddings, { client, indexName });
    const recordManager = new Records();
    const options = { cleanup: "full" as const, sourceIdKey: "source" };
    const page = (source: string, pageContent: string) => new Document({ pageContent, metadata: { source } });
    const run = (docsSource: Document[]) => index({ docsSource, recordManager, vectorStore, options });
    assert.deepEqual(await run([page("a", "one"), page("b", "two")]), { numAdded: 2, numDeleted: 0, numUpdated: 0, numSkipped: 0 });
    assert.deepEqual(await run([page("a", "one"), page("b", "changed")]), { numAdded: 1, numDeleted: 1, numUpdated: 0, numSkipped: 1 });
    const left = await vectorStore.similaritySearch("one", 10);
    assert.deepEqual(left.map(({ pageContent }) => pageContent).sort(), ["changed", "one"]);
  });
});

/** Records remembers what was indexed. */
class Records extends RecordManager {
  lc_namespace = ["tests"];
  readonly #rows = new Map<string, { at: number; group: string | null }>();
  #time = 0;

  async createSchema(): Promise<void> {}
  async getTime(): Promise<number> {
    return ++this.#time;
  }
  async update(keys: string[], { groupIds }: UpdateOptions = {}): Promise<void> {
    for (const [n, key] of keys.entries()) this.#rows.set(key, { at: ++this.#time, group: groupIds?.[n] ?? this.#rows.get(key)?.group ?? null });
  }
  async exists(keys: string[]): Promise<boolean[]> {
    return keys.map((key) => this.#rows.has(key));
  }
  async listKeys({ before = Infinity, groupIds, limit }: ListKeyOptions = {}): Promise<string[]> {
    const matching = [...this.#rows].filter(([, { at, group }]) => at < before && (!groupIds || groupIds.includes(group)));
    return matching.map(([key]) => key).slice(0, limit ?? undefined);
  }
  async deleteKeys(keys: string[]): Promise<void> {
    for (const key of keys) this.#rows.delete(key);
  }
}
