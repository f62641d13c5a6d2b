import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MastraError } from "@mastra/core/error";
import { RagdVector } from "@ragd/mastra";
import { axis, client, newIndex, pseudoRandom, store } from "./service.ts";

const count = async (indexName: string) => (await store.describeIndex({ indexName })).count;

/** refused fails unless a call throws an error of the caller with a message. */
async function refused(call: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await call.then(() => new Error(`not refused: ${message}`), (reason: unknown) => reason);
  assert.ok(error instanceof MastraError && error.category === "USER", String(error));
  assert.match(error.message, message);
}

describe("indexes", () => {
  it("are created, listed, described and deleted", async () => {
    const indexName = await newIndex(3, { metric: "euclidean" });
    assert.ok((await store.listIndexes()).includes(indexName));
    assert.deepEqual(await store.describeIndex({ indexName }), { dimension: 3, count: 0, metric: "euclidean", type: "hnsw", vectorType: "vector" });
    await store.deleteIndex({ indexName });
    assert.ok(!(await store.listIndexes()).includes(indexName));
    await store.deleteIndex({ indexName });
  });

  it("may be created again with the same dimension only", async () => {
    const indexName = await newIndex(4);
    await store.createIndex({ indexName, dimension: 4 });
    await store.createIndex({ indexName, dimension: 4, metric: "dotproduct" });
    assert.equal((await store.describeIndex({ indexName })).metric, "cosine");
    await assert.rejects(store.createIndex({ indexName, dimension: 5 }), /4 dimensions, but 5/);
    for (const dimension of [0, -100, 1.5]) {
      await assert.rejects(store.createIndex({ indexName, dimension }), { id: "MASTRA_VECTOR_RAGD_CREATE_INDEX_INVALID_ARGUMENT" });
    }
    await assert.rejects(store.createIndex({ indexName: `${indexName}x`, dimension: 4, metric: "manhattan" as "cosine" }), /metric/);
  });

  it("may be those that ragd embeds documents for", async () => {
    const indexName = `mastra_documents_${Date.now()}`;
    const { dimension } = await client.index(indexName).create();
    try {
      await store.createIndex({ indexName, dimension });
      await assert.rejects(store.createIndex({ indexName, dimension: dimension + 1 }), MastraError);
    } finally {
      await store.deleteIndex({ indexName });
    }
  });

  it("take the settings of the service", async () => {
    const indexName = await newIndex(4, { indexConfig: { type: "flat" }, vectorType: "halfvec", metadataIndexes: ["team"] });
    const { type, vectorType } = await store.describeIndex({ indexName });
    assert.deepEqual({ type, vectorType }, { type: "flat", vectorType: "halfvec" });
  });

  it("that do not exist are errors of the caller", async () => {
    const indexName = "mastra_nowhere";
    const calls = [
      () => store.describeIndex({ indexName }),
      () => store.query({ indexName, queryVector: axis(0) }),
      () => store.upsert({ indexName, vectors: [axis(0)] }),
      () => store.updateVector({ indexName, id: "a", update: { vector: axis(0) } }),
      () => store.deleteVector({ indexName, id: "a" }),
      () => store.deleteVectors({ indexName, filter: { a: 1 } }),
    ];
    for (const call of calls) await refused(call(), /"mastra_nowhere" not found/);
    await assert.rejects(store.describeIndex({ indexName }), { details: { code: "not_found", indexName } });
  });
});

describe("upsert", () => {
  it("returns ids in order, keeps given ones and replaces entries", async () => {
    const indexName = await newIndex();
    const made = await store.upsert({ indexName, vectors: [axis(0), axis(1)] });
    assert.equal(new Set(made).size, 2);
    const given = await store.upsert({ indexName, vectors: [axis(2), axis(3)], ids: ["b", "a"], metadata: [{ n: 1 }, { n: 2 }] });
    assert.deepEqual(given, ["b", "a"]);
    await store.upsert({ indexName, vectors: [axis(3)], ids: ["b"], metadata: [{ n: 3 }] });
    assert.equal(await count(indexName), 4);
    const results = await store.query({ indexName, queryVector: axis(3), topK: 2 });
    assert.deepEqual(results.map(({ id, metadata }) => [id, metadata?.n]), [["a", 2], ["b", 3]]);
  });

  it("keeps metadata as JSON has it", async () => {
    const indexName = await newIndex();
    const metadata = { text: "The gate.", list: [1, "two", null, { three: true }], nested: { a: { b: 0.5 } }, nothing: null, when: new Date(0), gone: undefined, call: () => 1 };
    await store.upsert({ indexName, vectors: [axis(0)], metadata: [metadata] });
    const [result] = await store.query({ indexName, queryVector: axis(0) });
    assert.deepEqual(result?.metadata, { text: "The gate.", list: [1, "two", null, { three: true }], nested: { a: { b: 0.5 } }, nothing: null, when: "1970-01-01T00:00:00.000Z" });
    assert.equal(result?.document, "The gate.");
  });

  it("replaces what deleteFilter selects", async () => {
    const indexName = await newIndex();
    await store.upsert({ indexName, vectors: [axis(0), axis(1), axis(2)], metadata: [{ source: "x" }, { source: "x" }, { source: "y" }] });
    await store.upsert({ indexName, vectors: [axis(3)], metadata: [{ source: "x" }], deleteFilter: { source: "x" } });
    assert.equal(await count(indexName), 2);
    await assert.rejects(store.upsert({ indexName, vectors: [axis(3)], deleteFilter: {} }), /empty filter/);
    // What cannot be stored deletes nothing.
    await assert.rejects(store.upsert({ indexName, vectors: [[1]], deleteFilter: { source: "x" } }), /dimension/i);
    assert.equal(await count(indexName), 2);
  });

  it("writes more than fits into one request", async () => {
    const dimension = 900; // 36 MB, of which a request may have 32 MiB
    const indexName = await newIndex(dimension, { indexConfig: { type: "flat" } });
    const vectors = Array.from({ length: 10_001 }, (_, n) => pseudoRandom(n, dimension));
    const ids = await store.upsert({ indexName, vectors, metadata: vectors.map((_, n) => ({ half: n < 5000 })) });
    assert.equal(await count(indexName), vectors.length);
    for (const n of [0, 4321, 10_000]) {
      const [nearest] = await store.query({ indexName, queryVector: vectors[n], topK: 1 });
      assert.equal(nearest?.id, ids[n]);
    }
    await store.deleteVectors({ indexName, filter: { half: true } });
    assert.equal(await count(indexName), 5001);
    await store.deleteVectors({ indexName, ids });
    assert.equal(await count(indexName), 0);
  });

  it("refuses what does not fit together", async () => {
    const indexName = await newIndex();
    const wrong: Array<[object, RegExp]> = [
      [{ vectors: [] }, /vectors: must not be empty/],
      [{ vectors: [axis(0), axis(1)], metadata: [{}] }, /metadata: has 1 entries for 2 vectors/],
      [{ vectors: [axis(0)], ids: ["a", "b"] }, /ids: has 2 entries for 1 vectors/],
      [{ vectors: [axis(0)], ids: [] }, /ids: has 0 entries for 1 vectors/],
      [{ vectors: [axis(0, 5)] }, /dimension/],
      [{ vectors: [[]] }, /values|dimension/],
      [{ vectors: ["text"] }, /vectors\[0\]: must be an array/],
      [{ vectors: [["0.1", 0, 0, 0]] }, /vectors\[0\]\[0\]: must be a number/],
      [{ vectors: [[0, null, 0, 0]] }, /vectors\[0\]\[1\]: must be a number/],
      [{ vectors: [[0, Number.NaN, 0, 0]] }, /values/],
      [{ vectors: [[0, 0, 0, Number.POSITIVE_INFINITY]] }, /values/],
      [{ vectors: [axis(0)], metadata: [{ long: "x".repeat(1 << 20) }] }, /metadata/],
    ];
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    wrong.push([{ vectors: [axis(0)], metadata: [circular] }, /circular/i]);
    for (const [input, message] of wrong) {
      await refused(store.upsert({ indexName, ...input } as Parameters<RagdVector["upsert"]>[0]), message);
    }
    assert.equal(await count(indexName), 0);
  });

  it("may run many times at once", async () => {
    const indexName = await newIndex();
    await Promise.all(Array.from({ length: 20 }, (_, n) => store.upsert({ indexName, vectors: [pseudoRandom(n)], metadata: [{ n }] })));
    assert.equal(await count(indexName), 20);
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => store.query({ indexName, queryVector: pseudoRandom(n), topK: 1 })));
    assert.deepEqual(results.map(([first]) => first?.metadata?.n), Array.from({ length: 20 }, (_, n) => n));
  });
});

describe("query", () => {
  it("returns the nearest first, with vectors on request", async () => {
    const indexName = await newIndex();
    const vectors = [[1, 0, 0, 0], [0.9, 0.1, 0, 0], [0, 1, 0, 0], [-1, 0, 0, 0]];
    await store.upsert({ indexName, vectors, ids: ["0", "1", "2", "3"] });
    const results = await store.query({ indexName, queryVector: axis(0) });
    assert.deepEqual(results.map(({ id }) => id), ["0", "1", "2", "3"]);
    assert.ok(Math.abs((results[0]?.score ?? 0) - 1) < 1e-6 && Math.abs((results[3]?.score ?? 0) + 1) < 1e-6);
    assert.ok(results.every((result) => !("vector" in result)));
    const [first] = await store.query({ indexName, queryVector: axis(0), topK: 1, includeVector: true });
    assert.deepEqual(first?.vector, [1, 0, 0, 0]);
    assert.equal((await store.query({ indexName, queryVector: axis(0), minScore: 0.5 })).length, 2);
  });

  it("needs no vector if there is a filter", async () => {
    const indexName = await newIndex();
    await store.upsert({ indexName, vectors: [axis(0), axis(1)], ids: ["b", "a"], metadata: [{ team: "x" }, { team: "x" }] });
    const results = await store.query({ indexName, filter: { team: "x" } });
    assert.deepEqual(results.map(({ id, score }) => [id, score]), [["a", 0], ["b", 0]]);
    await assert.rejects(store.query({ indexName }), /Either queryVector or filter must be provided/);
  });

  it("of an empty index finds nothing, and never ranks zero vectors first", async () => {
    const indexName = await newIndex();
    assert.deepEqual(await store.query({ indexName, queryVector: axis(0) }), []);
    await store.upsert({ indexName, vectors: [[0, 0, 0, 0], axis(0)], ids: ["zero", "one"] });
    const [first] = await store.query({ indexName, queryVector: axis(0) });
    assert.equal(first?.id, "one");
  });

  it("refuses wrong numbers", async () => {
    const indexName = await newIndex();
    for (const topK of [0, -5, 5.5]) await assert.rejects(store.query({ indexName, queryVector: axis(0), topK }), /topK: must be a positive integer/);
    await assert.rejects(store.query({ indexName, queryVector: axis(0), topK: 1001 }), /topK/);
    await assert.rejects(store.query({ indexName, queryVector: axis(0, 7) }), /dimension/);
  });

  it("adds sparse vectors to the score", async () => {
    const indexName = await newIndex(4, { metric: "dotproduct" });
    await store.upsert({ indexName, vectors: [axis(0), axis(0)], ids: ["a", "b"], sparseVectors: [{ indices: [7], values: [1] }, { indices: [9], values: [1] }] });
    const results = await store.query({ indexName, queryVector: axis(0), sparseVector: { indices: [9], values: [2] } });
    assert.deepEqual(results.map(({ id, score }) => [id, score]), [["b", 3], ["a", 1]]);
  });

  it("searches one namespace", async () => {
    const indexName = await newIndex();
    await store.upsert({ indexName, vectors: [axis(0)], ids: ["a"] });
    await store.upsert({ indexName, vectors: [axis(0)], ids: ["a"], namespace: "other", metadata: [{ other: true }] });
    const [result] = await store.query({ indexName, queryVector: axis(0), namespace: "other" });
    assert.equal(result?.metadata?.other, true);
    await store.updateVector({ indexName, id: "a", update: { metadata: { other: 2 } }, namespace: "other" });
    assert.deepEqual((await store.query({ indexName, queryVector: axis(0) }))[0]?.metadata, {});
    await store.deleteVectors({ indexName, namespace: "other" });
    assert.equal(await count(indexName), 1);
  });
});

describe("updateVector", () => {
  it("changes vector, metadata or both of one entry", async () => {
    const indexName = await newIndex();
    await store.upsert({ indexName, vectors: [axis(0), axis(1)], ids: ["a", "b"], metadata: [{ n: 1, keep: true }, { n: 2 }] });
    await store.updateVector({ indexName, id: "a", update: { vector: axis(2) } });
    await store.updateVector({ indexName, id: "b", update: { metadata: { m: 3 } } });
    const results = await store.query({ indexName, queryVector: axis(2), includeVector: true });
    assert.deepEqual(results.map(({ id, vector, metadata }) => [id, vector, metadata]), [
      ["a", axis(2), { n: 1, keep: true }],
      ["b", axis(1), { m: 3 }],
    ]);
    await store.updateVector({ indexName, id: "unknown", update: { metadata: { m: 3 } } });
    assert.equal(await count(indexName), 2);
  });

  it("changes all that a filter selects", async () => {
    const indexName = await newIndex();
    const metadata = [{ user: "u1", year: 1 }, { user: "u1", year: 2 }, { user: "u2", year: 1 }];
    await store.upsert({ indexName, vectors: [axis(0), axis(1), axis(2)], metadata });
    await store.updateVector({ indexName, filter: { $and: [{ user: "u1" }, { year: 2 }] }, update: { metadata: { user: "u1", year: 3 } } });
    await store.updateVector({ indexName, filter: { user: "nobody" }, update: { metadata: { user: "changed" } } });
    const years = (await store.query({ indexName, filter: { user: { $exists: true } } })).map((result) => result.metadata?.year);
    assert.deepEqual(years.sort(), [1, 1, 3]);
  });

  it("refuses calls that say too much or too little", async () => {
    const indexName = await newIndex();
    const update = { metadata: { a: 1 } };
    const wrong: Array<[object, RegExp]> = [
      [{ id: "a", filter: { a: 1 }, update }, /mutually exclusive/],
      [{ update }, /Either id or filter must be provided/],
      [{ filter: {}, update }, /empty filter/],
      [{ filter: { $and: [] }, update }, /empty filter/],
      [{ id: "a", update: {} }, /No updates provided/],
      [{ id: "a", update: { vector: [] } }, /update.vector: must not be empty/],
    ];
    for (const [input, message] of wrong) {
      await refused(store.updateVector({ indexName, ...input } as Parameters<RagdVector["updateVector"]>[0]), message);
    }
  });
});

describe("deleteVector and deleteVectors", () => {
  it("delete by id, by ids and by filter", async () => {
    const indexName = await newIndex();
    const ids = await store.upsert({ indexName, vectors: Array.from({ length: 7 }, (_, n) => pseudoRandom(n)), metadata: Array.from({ length: 7 }, (_, n) => ({ n, even: n % 2 === 0 })) });
    await store.deleteVector({ indexName, id: ids[0] as string });
    await store.deleteVector({ indexName, id: "unknown" });
    await store.deleteVectors({ indexName, ids: [ids[1] as string, ids[2] as string, "unknown"] });
    await store.deleteVectors({ indexName, filter: { $or: [{ n: 3 }, { n: { $in: [4, 99] } }] } });
    await store.deleteVectors({ indexName, filter: { n: 1000 } });
    const left = await store.query({ indexName, filter: { n: { $gte: 0 } } });
    assert.deepEqual(left.map((result) => result.metadata?.n).sort(), [5, 6]);
  });

  it("refuse calls that say too much or too little", async () => {
    const indexName = await newIndex();
    const wrong: Array<[object, RegExp]> = [
      [{ ids: ["a"], filter: { a: 1 } }, /mutually exclusive/],
      [{}, /Either filter or ids must be provided/],
      [{ ids: [] }, /empty ids array/],
      [{ filter: {} }, /empty filter/],
      [{ filter: { $and: [] } }, /empty filter/],
      [{ filter: { user: undefined } }, /user is undefined/],
    ];
    await store.upsert({ indexName, vectors: [axis(0)] });
    for (const [input, message] of wrong) {
      await refused(store.deleteVectors({ indexName, ...input }), message);
    }
    assert.equal(await count(indexName), 1);
  });
});

describe("a store of its own settings", () => {
  it("needs a valid key", async () => {
    const stranger = new RagdVector({ id: "stranger", url: process.env.RAGD_SERVER ?? "", apiKey: "wrong" });
    assert.equal(stranger.id, "stranger");
    await assert.rejects(stranger.listIndexes(), { category: "USER", details: { code: "unauthenticated" } });
  });

  it("reports a service that does not answer", async () => {
    const nowhere = new RagdVector({ url: "http://127.0.0.1:1", apiKey: "any", retry: { maxRetries: 0 } });
    await assert.rejects(nowhere.listIndexes(), { category: "THIRD_PARTY", details: { code: "unavailable" } });
  });
});
