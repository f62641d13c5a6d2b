import { Document, type DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { maximalMarginalRelevance } from "@langchain/core/utils/math";
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from "@langchain/core/vectorstores";
import { type IndexSettings, type Ragd, RagdError } from "@ragd/client";
import type { QueryResult } from "@ragd/client/api";
import { type ClientOptions, clientOf, type Entry, invalid, jsonObject, numbers, type Search, Vectors } from "../../vectors.mjs";

/** A filter over metadata, see docs/reference/filters.md. */
export type RagdFilter = Record<string, unknown>;

/** Settings of a RagdVectorStore: an index, and a client or its settings. */
export type RagdVectorStoreOptions = {
  indexName: string;
  /** The namespace of the index. Default: "default". */
  namespace?: string;
  /** Settings of the index when the store creates it. Default: the metric cosine. */
  indexSettings?: IndexSettings;
} & ClientOptions;

/** What to delete: exactly one of both. */
export interface RagdDeleteParams {
  ids?: string[];
  filter?: RagdFilter;
}

/**
 * RagdVectorStore stores documents with embeddings of LangChain in an index of ragd. Errors are RagdErrors
 * of @ragd/client.
 */
export class RagdVectorStore extends VectorStore {
  declare FilterType: RagdFilter;
  /** The client that the store uses. */
  readonly client: Ragd;
  readonly indexName: string;
  readonly #namespace: string | undefined;
  readonly #indexSettings: IndexSettings;
  readonly #vectors: Vectors;

  constructor(embeddings: EmbeddingsInterface, options: RagdVectorStoreOptions) {
    super(embeddings, options);
    this.client = clientOf(options);
    this.indexName = options.indexName;
    this.#namespace = options.namespace;
    this.#indexSettings = options.indexSettings ?? {};
    this.#vectors = new Vectors(this.client, options.indexName);
  }

  override _vectorstoreType(): string {
    return "ragd";
  }

  /** Creates the index for embeddings of a dimension, unless it exists. */
  async createIndex(dimension: number): Promise<void> {
    const index = this.client.index(this.indexName);
    try {
      await index.describe();
    } catch (error) {
      if (!(error instanceof RagdError && error.code === "not_found")) throw error;
      await index.create({ dimension, ...this.#indexSettings });
    }
  }

  /** Embeds and stores documents and returns their ids: options.ids, else those of the documents, else new ones. */
  override async addDocuments(documents: DocumentInterface[], options: { ids?: string[] } = {}): Promise<string[]> {
    const vectors = await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent));
    return this.addVectors(vectors, documents, options);
  }

  /** Stores documents with their embeddings, as addDocuments. One with the id of another replaces it. */
  override async addVectors(vectors: number[][], documents: DocumentInterface[], { ids }: { ids?: string[] } = {}): Promise<string[]> {
    if (vectors.length !== documents.length) throw invalid("vectors", `there are ${vectors.length} for ${documents.length} documents`);
    if (ids && ids.length !== documents.length) throw invalid("ids", `there are ${ids.length} for ${documents.length} documents`);
    const entries = documents.map((document, n): Entry => ({
      // Without ids of its own a request could not be repeated after a broken connection.
      id: ids?.[n] ?? document.id ?? globalThis.crypto.randomUUID(),
      values: numbers(`vectors[${n}]`, vectors[n] as number[]),
      document: document.pageContent,
      metadata: jsonObject(`documents[${n}].metadata`, document.metadata ?? {}),
    }));
    await this.#vectors.upsert(entries, { namespace: this.#namespace });
    return entries.map(({ id }) => id);
  }

  /** Deletes documents by ids or by a filter. Unknown ids are no error. */
  override async delete({ ids, filter }: RagdDeleteParams = {}): Promise<void> {
    if (ids && filter) throw invalid("ids", "and filter are mutually exclusive");
    if (!ids && !filter) throw invalid("ids", "Either filter or ids must be provided");
    if (ids?.length === 0) return;
    await this.#vectors.remove({ ids, filter, namespace: this.#namespace });
  }

  /** Returns the documents nearest to an embedding with their scores, best first. */
  override async similaritySearchVectorWithScore(query: number[], k: number, filter?: RagdFilter): Promise<[Document, number][]> {
    const results = await this.#search({ queryVector: numbers("query", query), topK: k, filter });
    return results.map((result) => [documentOf(result), result.score]);
  }

  /** Returns documents that are relevant and differ from each other, chosen among the fetchK (default 20) nearest. */
  override async maxMarginalRelevanceSearch(query: string, options: MaxMarginalRelevanceSearchOptions<RagdFilter>): Promise<Document[]> {
    const { k, fetchK = 20, lambda = 0.5, filter } = options;
    const queryVector = await this.embeddings.embedQuery(query);
    const results = await this.#search({ queryVector, topK: Math.max(k, fetchK), filter, includeVector: true });
    const chosen = maximalMarginalRelevance(queryVector, results.map(({ vector }) => vector), lambda, k);
    return chosen.map((n) => documentOf(results[n] as QueryResult));
  }

  #search(search: Search): Promise<QueryResult[]> {
    return this.#vectors.query({ ...search, namespace: this.#namespace });
  }

  /** Creates the index if it does not exist, and stores texts in it. One object of metadata is that of all texts. */
  static override async fromTexts(texts: string[], metadatas: object[] | object, embeddings: EmbeddingsInterface, options: RagdVectorStoreOptions): Promise<RagdVectorStore> {
    const documents = texts.map((pageContent, n) => new Document({ pageContent, metadata: Array.isArray(metadatas) ? metadatas[n] : metadatas }));
    return RagdVectorStore.fromDocuments(documents, embeddings, options);
  }

  /** Creates the index if it does not exist, and stores documents in it. */
  static override async fromDocuments(documents: DocumentInterface[], embeddings: EmbeddingsInterface, options: RagdVectorStoreOptions): Promise<RagdVectorStore> {
    const store = new RagdVectorStore(embeddings, options);
    const vectors = await embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent));
    const [first = await embeddings.embedQuery("dimension")] = vectors;
    await store.createIndex(first.length);
    await store.addVectors(vectors, documents);
    return store;
  }
}

function documentOf({ id, document, metadata = {} }: QueryResult): Document {
  // Clients that store vectors alone put the text into the metadata.
  return new Document({ id, pageContent: document || (typeof metadata.text === "string" ? metadata.text : ""), metadata });
}
