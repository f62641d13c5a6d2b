import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { MetadataMode } from "@llamaindex/core/schema";
import { RagdError } from "@ragd/client";
import { RagdRetriever, RagdVectorStore } from "@ragd/llamaindex";
import { client, embedModel, newName } from "./service.ts";

const index = client.index(newName());
const indexName = index.name;
before(async () => {
  await index.create();
  await index.upload("# Tides\n\nThe gate opens two hours before high water. See LD-101.", { uri: "tides.md", metadata: { team: "harbour" } });
  await index.upload("# LD-101\n\nThe schedule of the lock.", { uri: "schedule.md", metadata: { team: "harbour" } });
  await index.upload("Invoices are paid within thirty days.", { uri: "office.txt", metadata: { team: "office" } });
});

describe("RagdRetriever", () => {
  it("finds chunks with their origin and score", async () => {
    const retriever = new RagdRetriever({ client, indexName, query: { topK: 1, filter: { team: "harbour" } } });
    const [found] = await retriever.retrieve("when does the gate open?");
    assert.match(found?.node.getContent(MetadataMode.NONE) ?? "", /two hours before/);
    const { uri, team, ordinal, text } = found?.node.metadata ?? {};
    assert.deepEqual({ uri, team, ordinal, text }, { uri: "tides.md", team: "harbour", ordinal: 0, text: undefined });
    assert.ok((found?.score ?? 0) > 0);
  });

  it("reranks and walks the graph", async () => {
    const reranked = await new RagdRetriever({ client, indexName, query: { topK: 1, reranker: {} } }).retrieve({ query: "when are invoices paid?" });
    assert.deepEqual(reranked.map(({ node }) => node.metadata.uri), ["office.txt"]);
    const walked = await new RagdRetriever({ client, indexName, graph: { topK: 2 } }).retrieve("when does the gate open?");
    assert.deepEqual(walked.map(({ node }) => node.metadata.uri).sort(), ["schedule.md", "tides.md"]);
  });

  it("reports errors", async () => {
    await assert.rejects(new RagdRetriever({ client, indexName: "llamaindex_nowhere" }).retrieve("x"), (error) => error instanceof RagdError && error.code === "not_found");
  });
});

describe("RagdVectorStore", () => {
  it("finds the chunks of uploaded documents", async () => {
    const store = new RagdVectorStore({ client, indexName, embedModel });
    const queryEmbedding = await embedModel.getTextEmbedding("when does the gate open?");
    const { nodes } = await store.query({ queryEmbedding, similarityTopK: 1, mode: "default" as never, filters: { filters: [{ key: "team", operator: "==", value: "harbour" }] } });
    assert.match(nodes?.[0]?.getContent(MetadataMode.NONE) ?? "", /two hours before/);
    assert.equal(nodes?.[0]?.metadata.team, "harbour");
  });
});

describe("RagdEmbedding", () => {
  it("embeds texts in their order", async () => {
    const texts = Array.from({ length: 600 }, (_, n) => `text ${n}`);
    const vectors = await embedModel.getTextEmbeddingsBatch(texts);
    assert.equal(vectors.length, texts.length);
    assert.deepEqual(vectors[599], await embedModel.getTextEmbedding("text 599"));
    assert.deepEqual(await embedModel.getQueryEmbedding({ type: "text", text: "text 599" }), vectors[599]);
  });
});
