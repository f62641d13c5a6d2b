import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { MetadataMode, NodeRelationship, ObjectType, TextNode } from "@llamaindex/core/schema";
import { type MetadataFilters, type VectorStoreQuery, VectorStoreQueryMode } from "@llamaindex/core/vector-store";
import { RagdError } from "@ragd/client";
import { type RagdQueryParams, RagdVectorStore } from "@ragd/llamaindex";
import { Document, Settings, storageContextFromDefaults, VectorStoreIndex } from "llamaindex";
import { client, embedModel, newName } from "./service.ts";

Settings.embedModel = embedModel;

const boats = [
  { name: "Alk", price: 10, kind: "sail", tags: ["new", "sale"], built: "2001-05-01" },
  { name: "Brage", price: 25, kind: "sail", tags: ["classic"], "made.in": "NO" },
  { name: "Corvus", price: 50, kind: "motor", tags: ["fast", "sale"], $code: "x", "d\\e": "y" },
  { name: "Dolly", price: 100, kind: "motor", tags: [], note: "Leaks 100% a_bit" },
];

function node(id: string, text: string, embedding: number[], metadata: Record<string, unknown> = {}, source?: string): TextNode {
  const relationships = source ? { [NodeRelationship.SOURCE]: { nodeId: source, nodeType: ObjectType.DOCUMENT, metadata: {} } } : {};
  return new TextNode({ id_: id, text, embedding, metadata, relationships });
}

function axis(coordinate: number): number[] {
  return [0, 1, 2, 3].map((n) => (n === coordinate ? 1 : 0));
}

type Query = VectorStoreQuery<RagdQueryParams>;
const nearest = (coordinate: number, more: Partial<Query> = {}): Query => ({ queryEmbedding: axis(coordinate), similarityTopK: 10, mode: VectorStoreQueryMode.DEFAULT, ...more });

describe("RagdVectorStore", () => {
  it("returns nodes as they were stored", async () => {
    const store = new RagdVectorStore({ client, indexName: newName() });
    const stored = node("a", "The gate opens.", axis(0), { team: "harbour", nested: { deep: [1, null] } }, "tides");
    assert.deepEqual(await store.add([stored, node("b", "Ships wait.", axis(1))]), ["a", "b"]);
    const { nodes, similarities, ids } = await store.query(nearest(0));
    assert.deepEqual(ids, ["a", "b"]);
    assert.ok(Math.abs((similarities[0] ?? 0) - 1) < 1e-6);
    const [first] = nodes ?? [];
    assert.ok(first instanceof TextNode);
    assert.equal(first.id_, "a");
    assert.equal(first.getContent(MetadataMode.NONE), "The gate opens.");
    assert.deepEqual(first.metadata, { team: "harbour", nested: { deep: [1, null] } });
    assert.equal(first.sourceNode?.nodeId, "tides");
  });

  it("replaces nodes by id, and deletes those of a document", async () => {
    const indexName = newName();
    const store = new RagdVectorStore({ client, indexName });
    await store.add([node("a", "one", axis(0), {}, "x"), node("b", "two", axis(1), {}, "x"), node("c", "three", axis(2), {}, "y")]);
    await store.add([node("a", "changed", axis(0), {}, "x")]);
    assert.deepEqual((await store.query(nearest(0, { docIds: ["x"] }))).nodes?.map((found) => found.getContent(MetadataMode.NONE)), ["changed", "two"]);
    await store.delete("x");
    await store.delete("unknown");
    assert.deepEqual((await store.query(nearest(0))).ids, ["c"]);
    await assert.rejects(store.delete(""), /refDocId/);
    assert.deepEqual(await store.add([]), []);
  });

  it("keeps namespaces apart", async () => {
    const indexName = newName();
    const [one, other] = [undefined, "other"].map((namespace) => new RagdVectorStore({ client, indexName, namespace })) as [RagdVectorStore, RagdVectorStore];
    await one.add([node("a", "one", axis(0), {}, "x")]);
    await other.add([node("a", "other", axis(0), {}, "x")]);
    await one.delete("x");
    assert.deepEqual((await one.query(nearest(0))).ids, []);
    assert.deepEqual((await other.query(nearest(0))).nodes?.map((found) => found.getContent(MetadataMode.NONE)), ["other"]);
  });

  it("searches by keywords, by both, and for different nodes", async () => {
    const store = new RagdVectorStore({ client, indexName: newName() });
    await store.add([node("a", "The lock gate opens before high water.", axis(0)), node("b", "The lock gate opens before low water.", [0.99, 0.1, 0, 0]), node("c", "Invoices are paid monthly.", [0.6, 0, 0.8, 0])]);
    const ids = async (query: Partial<Query>) => (await store.query(nearest(0, query))).ids;
    assert.deepEqual(await ids({ mode: VectorStoreQueryMode.SPARSE, queryStr: "invoices" }), ["c"]);
    assert.equal((await ids({ mode: VectorStoreQueryMode.HYBRID, queryStr: "invoices", alpha: 0.1 }))[0], "c");
    assert.equal((await ids({ mode: VectorStoreQueryMode.HYBRID, queryStr: "invoices", alpha: 1 }))[0], "a");
    assert.deepEqual(await ids({ mode: VectorStoreQueryMode.MMR, mmrThreshold: 0.2, similarityTopK: 2 }), ["a", "c"]);
    const [first] = (await store.query(nearest(0, { mode: VectorStoreQueryMode.HYBRID, queryStr: "invoices", alpha: 0 }))).nodes ?? [];
    assert.equal(first?.getContent(MetadataMode.NONE), "Invoices are paid monthly.");
    assert.deepEqual(first?.metadata, {});
    await assert.rejects(ids({ mode: VectorStoreQueryMode.SVM }), (error) => error instanceof RagdError && /mode: svm is not supported/.test(error.message));
  });

  it("refuses what cannot be stored or asked", async () => {
    const store = new RagdVectorStore({ client, indexName: newName() });
    await assert.rejects(store.query(nearest(0)), (error) => error instanceof RagdError && error.code === "not_found");
    await store.add([node("a", "one", axis(0))]);
    await assert.rejects(store.add([node("b", "two", [1])]), /dimension/);
    await assert.rejects(store.add([new TextNode({ text: "without embedding" })]), /[Ee]mbedding/);
    await assert.rejects(store.query(nearest(0, { similarityTopK: 1001 })), /topK/);
  });
});

describe("filters", () => {
  let store: RagdVectorStore;
  before(async () => {
    store = new RagdVectorStore({ client, indexName: newName() });
    await store.add(boats.map((boat, n) => node(boat.name, boat.name, axis(n), boat)));
  });
  const names = async (filters: MetadataFilters | undefined, more: Partial<Query> = {}) => (await store.query(nearest(0, { filters, ...more }))).ids.map((id) => id[0]).sort().join("");

  const cases: Array<[filters: MetadataFilters["filters"], names: string]> = [
    [[], "ABCD"],
    [[{ key: "kind", operator: "==", value: "sail" }], "AB"],
    [[{ key: "price", operator: "==", value: 50 }], "C"],
    [[{ key: "kind", operator: "!=", value: "sail" }], "CD"],
    [[{ key: "price", operator: ">", value: 10 }, { key: "price", operator: "<=", value: 50 }], "BC"],
    [[{ key: "price", operator: ">=", value: 50 }], "CD"],
    [[{ key: "price", operator: "<", value: 25 }], "A"],
    [[{ key: "kind", operator: "in", value: ["sail", "row"] }], "AB"],
    [[{ key: "price", operator: "in", value: [10, 100] }], "AD"],
    [[{ key: "kind", operator: "nin", value: ["sail"] }], "CD"],
    [[{ key: "tags", operator: "any", value: ["classic", "fast"] }], "BC"],
    [[{ key: "tags", operator: "all", value: ["sale", "fast"] }], "C"],
    [[{ key: "tags", operator: "contains", value: "sale" }], "AC"],
    [[{ key: "note", operator: "text_match", value: "100% A_BIT" }], "D"],
    [[{ key: "built", operator: "is_empty" }], "BCD"],
    [[{ key: "tags", operator: "is_empty" }], "D"],
    [[{ key: "made.in", operator: "==", value: "NO" }], "B"],
    [[{ key: "$code", operator: "==", value: "x" }], "C"],
    [[{ key: "d\\e", operator: "==", value: "y" }], "C"],
  ];
  for (const [filters, expected] of cases) {
    it(`select by ${JSON.stringify(filters)}`, async () => assert.equal(await names({ filters }), expected));
  }

  it("are joined by and or or, and with a filter of ragd", async () => {
    const filters: MetadataFilters["filters"] = [{ key: "kind", operator: "==", value: "sail" }, { key: "price", operator: ">", value: 20 }];
    assert.equal(await names({ filters }), "B");
    assert.equal(await names({ filters, condition: "or" }), "ABCD");
    assert.equal(await names({ filters }, { customParams: { filter: { price: { $gt: 1000 } } } }), "");
    assert.equal(await names(undefined, { customParams: { filter: { $nor: [{ kind: "sail" }] } } }), "CD");
    assert.equal(await names({ filters }, { mode: VectorStoreQueryMode.SPARSE, queryStr: "Brage Dolly" }), "B");
  });

  it("need the values of their operators", async () => {
    await assert.rejects(names({ filters: [{ key: "kind", operator: "==" }] }), /filters.kind: the operator == needs a value/);
    await assert.rejects(names({ filters: [{ key: "kind", operator: "in", value: "sail" }] }), /filters.kind: the operator in needs an array/);
    await assert.rejects(names({ filters: [{ key: "kind", operator: "near" as "in", value: "x" }] }), /filters.kind: the operator near is unknown/);
  });
});

describe("VectorStoreIndex of llamaindex", () => {
  it("splits, stores, finds and deletes documents", async () => {
    const vectorStore = new RagdVectorStore({ client, indexName: newName(), embedModel });
    const documents = [
      new Document({ id_: "tides", text: "The lock gate opens two hours before high water.", metadata: { team: "harbour" } }),
      new Document({ id_: "office", text: "Invoices are paid within thirty days.", metadata: { team: "office" } }),
    ];
    const index = await VectorStoreIndex.fromDocuments(documents, { storageContext: await storageContextFromDefaults({ vectorStore }) });
    const retriever = index.asRetriever({ similarityTopK: 1 });
    const [found] = await retriever.retrieve("when are invoices paid?");
    assert.equal(found?.node.getContent(MetadataMode.NONE), "Invoices are paid within thirty days.");
    assert.equal(found?.node.sourceNode?.nodeId, "office");
    const again = (await VectorStoreIndex.fromVectorStore(vectorStore)).asRetriever({ similarityTopK: 5, filters: { filters: [{ key: "team", operator: "==", value: "harbour" }] } });
    assert.deepEqual((await again.retrieve("invoices")).map(({ node: { metadata } }) => metadata.team), ["harbour"]);
    await vectorStore.delete("office");
    assert.deepEqual((await retriever.retrieve("when are invoices paid?")).map(({ node: { metadata } }) => metadata.team), ["harbour"]);
  });
});
