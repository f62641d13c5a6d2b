import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { RequestContext } from "@mastra/core/request-context";
import { createGraphRAGTool, createVectorQueryTool } from "@mastra/rag";
import { RagdVector } from "@ragd/mastra";
import { client, model, newIndex, store } from "./service.ts";

const texts = [
  { text: "The lock gate opens two hours before high water.", team: "harbour" },
  { text: "Ships wait for high water at the outer mooring.", team: "harbour" },
  { text: "Invoices are paid within thirty days.", team: "office" },
  { text: "Leave is requested a month ahead.", team: "office" },
];

interface Found {
  relevantContext: unknown[];
  sources: Array<{ id: string; metadata: Record<string, unknown>; score: number; document: string; vector: number[] }>;
}

type Tool = { execute?: unknown };

/** call runs a tool as an agent does. */
async function call(tool: Tool, input: object, requestContext = new RequestContext()): Promise<Found> {
  const execute = tool.execute as (input: object, context: object) => Promise<Found>;
  return execute(input, { requestContext });
}

describe("the tools of @mastra/rag", () => {
  let indexName: string;
  let dimension: number;
  before(async () => {
    const { embeddings } = await model.doEmbed({ values: texts.map(({ text }) => text) });
    dimension = (embeddings[0] as number[]).length;
    indexName = await newIndex(dimension);
    await store.upsert({ indexName, vectors: embeddings, ids: ["gate", "mooring", "invoices", "leave"], metadata: texts });
  });

  it("createVectorQueryTool finds the text of a question", async () => {
    const tool = createVectorQueryTool({ vectorStore: store, indexName, model });
    const { relevantContext, sources } = await call(tool, { queryText: "when does the lock gate open?", topK: 2 });
    assert.equal(sources.length, 2);
    assert.deepEqual(sources[0]?.metadata, texts[0]);
    assert.equal(sources[0]?.id, "gate");
    assert.equal(sources[0]?.document, texts[0]?.text);
    assert.ok((sources[0]?.score ?? 0) > (sources[1]?.score ?? 1));
    assert.deepEqual(relevantContext[0], texts[0]);
  });

  it("createVectorQueryTool filters, and returns vectors", async () => {
    const tool = createVectorQueryTool({ vectorStore: store, indexName, model, enableFilter: true, includeVectors: true });
    const { sources } = await call(tool, { queryText: "when does the lock gate open?", topK: 10, filter: '{"team": "office"}' });
    assert.deepEqual(sources.map(({ id }) => id).sort(), ["invoices", "leave"]);
    assert.equal(sources[0]?.vector.length, dimension);
  });

  it("createVectorQueryTool passes databaseConfig on", async () => {
    const tool = createVectorQueryTool({ vectorStore: store, indexName, model, databaseConfig: { pgvector: { minScore: 2, ef: 100 } } });
    assert.deepEqual((await call(tool, { queryText: "gate", topK: 5 })).sources, []);
    const other = createVectorQueryTool({ vectorStore: store, indexName, model, databaseConfig: { pinecone: { namespace: "empty" } } });
    assert.deepEqual((await call(other, { queryText: "gate", topK: 5 })).sources, []);
  });

  it("createVectorQueryTool takes the store of a request", async () => {
    const tool = createVectorQueryTool({
      vectorStore: ({ requestContext }) => {
        assert.equal(requestContext?.get("team"), "harbour");
        return new RagdVector({ client });
      },
      indexName,
      model,
    });
    const context = new RequestContext();
    context.set("team", "harbour");
    context.set("topK", 1);
    assert.equal((await call(tool, { queryText: "invoices", topK: 3 }, context)).sources[0]?.id, "invoices");
  });

  it("createGraphRAGTool walks the graph of the results", async () => {
    const tool = createGraphRAGTool({ vectorStore: store, indexName, model, graphOptions: { dimension, threshold: 0.1 } });
    const { relevantContext, sources } = await call(tool, { queryText: "when does the lock gate open?", topK: 3 });
    assert.equal(sources.length, 3);
    assert.ok(relevantContext.includes(texts[0]?.text));
    assert.ok(sources.every(({ score }) => Number.isFinite(score)));
  });

  it("finds the chunks of documents that ragd has read", async () => {
    const documents = client.index(`mastra_read_${Date.now()}`);
    await documents.create();
    try {
      await documents.upload("# Tides\n\nThe gate opens two hours before high water.", { uri: "tides.md", metadata: { team: "harbour" } });
      const tool = createVectorQueryTool({ vectorStore: store, indexName: documents.name, model });
      const [source] = (await call(tool, { queryText: "when does the gate open?", topK: 1 })).sources;
      assert.equal(source?.metadata.team, "harbour");
      assert.match(String(source?.metadata.text), /two hours before/);
      assert.match(String(source?.document), /two hours before/);
    } finally {
      await documents.drop();
    }
  });
});
