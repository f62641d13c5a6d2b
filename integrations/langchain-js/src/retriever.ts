import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import { Document } from "@langchain/core/documents";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import type { GraphOptions, QueryOptions, Ragd, Source } from "@ragd/client";
import { type ClientOptions, clientOf } from "../../vectors.mjs";

/** Settings of a RagdRetriever: an index, how it is searched, and a client or its settings. */
export type RagdRetrieverOptions = BaseRetrieverInput & {
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
  lc_namespace = ["ragd", "retrievers"];
  readonly #client: Ragd;
  readonly #indexName: string;
  readonly #query: QueryOptions;
  readonly #graph: GraphOptions | undefined;

  static override lc_name(): string {
    return "RagdRetriever";
  }

  constructor(options: RagdRetrieverOptions) {
    super(options);
    this.#client = clientOf(options);
    this.#indexName = options.indexName;
    this.#query = options.query ?? {};
    this.#graph = options.graph;
  }

  override async _getRelevantDocuments(question: string, _run?: CallbackManagerForRetrieverRun): Promise<Document[]> {
    const index = this.#client.index(this.#indexName);
    const { sources } = this.#graph ? await index.graph(question, this.#graph) : await index.query(question, this.#query);
    return sources.map(documentOf);
  }
}

/** documentOf returns a source with where it is from in the metadata. */
function documentOf(source: Source): Document {
  const { id, document, score, documentId, uri, title, ordinal, startByte, endByte } = source;
  const { text: _text, ...metadata } = source.metadata ?? {}; // the text is pageContent
  const origin = documentId === "" ? {} : { source: uri, title, documentId, ordinal, startByte, endByte };
  return new Document({ id, pageContent: document, metadata: { ...origin, ...metadata, score } });
}
