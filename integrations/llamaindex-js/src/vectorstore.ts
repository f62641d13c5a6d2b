import { type BaseNode, MetadataMode, TextNode } from "@llamaindex/core/schema";
import {
  BaseVectorStore,
  metadataDictToNode,
  nodeToMetadata,
  type VectorStoreBaseParams,
  type VectorStoreQuery,
  type VectorStoreQueryResult,
} from "@llamaindex/core/vector-store";
import { type IndexSettings, type JsonObject, type QueryOptions, type Ragd, RagdError } from "@ragd/client";
import { type ClientOptions, clientOf, type Entry, filterValue, invalid, jsonObject, numbers, Vectors } from "../../vectors.mjs";
import { filterOf, type RagdFilter } from "./filter.js";

/** Settings of a RagdVectorStore: an index, and a client or its settings. */
export type RagdVectorStoreOptions = VectorStoreBaseParams & {
  indexName: string;
  /** The namespace of the index. Default: "default". */
  namespace?: string;
  /** Settings of the index when the store creates it. Default: the metric cosine. */
  indexSettings?: IndexSettings;
} & ClientOptions;

/** Parameters of a query beyond LlamaIndex's. */
export interface RagdQueryParams {
  /** A filter over metadata, beside the metadata filters of the query. */
  filter?: RagdFilter;
  /** Settings of a query of @ragd/client for the modes hybrid, sparse and mmr, such as a reranker. */
  query?: Omit<QueryOptions, "topK" | "filter" | "mode" | "vector" | "namespace">;
}

type Query = VectorStoreQuery<RagdQueryParams>;

/**
 * RagdVectorStore stores nodes with embeddings of LlamaIndex in an index of ragd. Queries may have the modes
 * default, hybrid, sparse (keywords alone) and mmr. Errors are RagdErrors of @ragd/client.
 */
export class RagdVectorStore extends BaseVectorStore<Ragd, RagdQueryParams> {
  storesText = true;
  readonly indexName: string;
  readonly #client: Ragd;
  readonly #namespace: string | undefined;
  readonly #indexSettings: IndexSettings;
  readonly #vectors: Vectors;
  #created = false;

  constructor(options: RagdVectorStoreOptions) {
    super(options);
    this.indexName = options.indexName;
    this.#client = clientOf(options);
    this.#namespace = options.namespace;
    this.#indexSettings = options.indexSettings ?? {};
    this.#vectors = new Vectors(this.#client, options.indexName);
  }

  override client(): Ragd {
    return this.#client;
  }

  /** Stores nodes and returns their ids. The index is created if it does not exist. */
  override async add(nodes: BaseNode[]): Promise<string[]> {
    if (nodes.length === 0) return [];
    const entries = nodes.map((node): Entry => ({
      id: node.id_,
      values: numbers(`nodes[${node.id_}].embedding`, node.getEmbedding()),
      document: node.getContent(MetadataMode.NONE),
      metadata: jsonObject(`nodes[${node.id_}].metadata`, nodeToMetadata(node, true)),
    }));
    await this.#create((entries[0] as Entry).values.length);
    await this.#vectors.upsert(entries, { namespace: this.#namespace });
    return entries.map(({ id }) => id);
  }

  async #create(dimension: number): Promise<void> {
    if (this.#created) return;
    const index = this.#client.index(this.indexName);
    try {
      await index.describe();
    } catch (error) {
      if (!(error instanceof RagdError && error.code === "not_found")) throw error;
      await index.create({ dimension, ...this.#indexSettings });
    }
    this.#created = true;
  }

  /** Deletes the nodes of a document. An unknown document is no error. */
  override async delete(refDocId: string): Promise<void> {
    if (typeof refDocId !== "string" || refDocId === "") throw invalid("refDocId", "must not be empty");
    await this.#vectors.remove({ filter: { ref_doc_id: { $eq: refDocId } }, namespace: this.#namespace });
  }

  /** Returns the nodes that match a query best. */
  override async query(query: Query): Promise<VectorStoreQueryResult> {
    const filter = allOf(
      filterOf(query.filters),
      query.docIds && { ref_doc_id: { $in: query.docIds } },
      query.customParams?.filter,
    );
    const found = query.mode === "default" ? await this.#nearest(query, filter) : await this.#search(query, filter);
    return {
      nodes: found.map(({ id, document, metadata }) => nodeOf(id, document, metadata)),
      similarities: found.map(({ score }) => score),
      ids: found.map(({ id }) => id),
    };
  }

  #nearest({ queryEmbedding, similarityTopK }: Query, filter: RagdFilter | undefined) {
    const queryVector = queryEmbedding && numbers("queryEmbedding", queryEmbedding);
    return this.#vectors.query({ queryVector, topK: similarityTopK, filter, namespace: this.#namespace });
  }

  async #search(query: Query, filter: RagdFilter | undefined) {
    const options = { ...modeOptions(query), ...query.customParams?.query };
    const { sources } = await this.#client.index(this.indexName).query(query.queryStr ?? "", {
      ...options,
      ...(query.mode !== "sparse" && { vector: query.queryEmbedding }),
      topK: query.similarityTopK,
      filter: filter && (JSON.parse(filterValue(filter)?.kind.value ?? "{}") as JsonObject),
      namespace: this.#namespace,
    });
    return sources;
  }
}

/** modeOptions returns the settings of a query for a mode. */
function modeOptions({ mode, alpha, mmrThreshold = 0.5 }: Query): QueryOptions {
  switch (mode) {
    case "hybrid":
      return { mode: "hybrid", ...(alpha !== undefined && { hybrid: { vectorWeight: alpha, keywordWeight: 1 - alpha } }) };
    case "sparse":
      return { mode: "keyword" };
    case "mmr":
      return { mode: "vector", diversity: 1 - mmrThreshold };
    default:
      throw invalid("mode", `${mode} is not supported; use default, hybrid, sparse or mmr`);
  }
}

/** allOf returns a filter that selects what all of the given ones do. */
function allOf(...filters: Array<RagdFilter | undefined>): RagdFilter | undefined {
  const given = filters.filter((filter) => filter !== undefined);
  return given.length > 1 ? { $and: given } : given[0];
}

/** nodeOf returns a stored node; for the chunk of an uploaded document a new one. */
export function nodeOf(id: string, document: string, fields: JsonObject = {}): BaseNode {
  if (typeof fields._node_content === "string") {
    const { text: _text, ...metadata } = fields;
    const node = metadataDictToNode(metadata);
    node.setContent(document);
    return node;
  }
  const { text = "", ...metadata } = fields;
  return new TextNode({ id_: id, text: document || String(text), metadata });
}
