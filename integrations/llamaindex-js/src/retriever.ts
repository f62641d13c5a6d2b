import type { QueryBundle } from "@llamaindex/core/query-engine";
import { BaseRetriever } from "@llamaindex/core/retriever";
import type { NodeWithScore } from "@llamaindex/core/schema";
import { extractText } from "@llamaindex/core/utils";
import type { GraphOptions, QueryOptions, Ragd, Source } from "@ragd/client";
import { type ClientOptions, clientOf } from "../../vectors.mjs";
import { nodeOf } from "./vectorstore.js";

/** Settings of a RagdRetriever: an index, how it is searched, and a client or its settings. */
export type RagdRetrieverOptions = {
  indexName: string;
  /** Settings of a query, such as topK, filter, mode and reranker. Without query and graph: a query with the service's defaults. */
  query?: QueryOptions;
  /** Searches by walking the graph of the index, with these settings. */
  graph?: GraphOptions;
} & ClientOptions;

/**
 * RagdRetriever searches documents that were uploaded to ragd. The service embeds the question, combines
 * vector and keyword search, and reranks or walks the graph if asked to.
 */
export class RagdRetriever extends BaseRetriever {
  readonly #client: Ragd;
  readonly #indexName: string;
  readonly #query: QueryOptions;
  readonly #graph: GraphOptions | undefined;

  constructor(options: RagdRetrieverOptions) {
    super();
    this.#client = clientOf(options);
    this.#indexName = options.indexName;
    this.#query = options.query ?? {};
    this.#graph = options.graph;
  }

  override async _retrieve({ query }: QueryBundle): Promise<NodeWithScore[]> {
    const index = this.#client.index(this.#indexName);
    const question = extractText(query);
    const { sources } = this.#graph ? await index.graph(question, this.#graph) : await index.query(question, this.#query);
    return sources.map((source) => ({ node: withOrigin(source), score: source.score }));
  }
}

/** withOrigin returns the node of a source, with where it is from in the metadata. */
function withOrigin({ id, document, metadata, documentId, uri, title, ordinal, startByte, endByte }: Source) {
  const node = nodeOf(id, document, metadata);
  if (documentId !== "") node.metadata = { uri, title, document_id: documentId, ordinal, start_byte: startByte, end_byte: endByte, ...node.metadata };
  return node;
}
