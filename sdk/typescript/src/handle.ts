import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { durationFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { invalid, JobError, RagdError, thrown } from "./errors.js";
import type { Chunk } from "./gen/ragd/v1/chunk_pb.js";
import type { DeleteDocumentsResponse, Document, DocumentService, Job, ReadDocumentResponse } from "./gen/ragd/v1/document_pb.js";
import type { EvaluateService, RecordFeedbackResponse } from "./gen/ragd/v1/evaluate_pb.js";
import type { CreateIndexRequestSchema, Index, IndexService, UpdateIndexRequestSchema } from "./gen/ragd/v1/index_pb.js";
import type { BoostSchema, CountChunksResponse, DatabaseConfigSchema, FacetSchema, GraphOptionsSchema, GraphRagResponse, GroupBySchema, HybridSchema, LikeSchema, OrderBySchema, QueryService, RerankerSchema, SuggestResponse, Topic, VectorQueryResponse } from "./gen/ragd/v1/query_pb.js";
import { pauseBefore, repeat, sleep } from "./retry.js";
import { uploadStream } from "./stream.js";
import { type CallOptions, type Fields, headersFor, pages, type RagdOptions, stream, unary } from "./transport.js";
import { contentOf, refused, Report, requestOf, type UploadOptions, type UploadResult, type UploadSource } from "./upload.js";

/** Settings of a search. */
export interface SearchOptions extends CallOptions {
  /** Number of sources, 1 to 1000. Default: 10. */
  topK?: number;
  /** A filter over metadata, see docs/reference/filters.md. */
  filter?: JsonObject;
  /** Default: hybrid. */
  mode?: "vector" | "keyword" | "hybrid";
  /** The namespace to search. Default: "default". */
  namespace?: string;
  /** A ready-made embedding of the question. */
  vector?: number[];
  /** Scores the results a second time, such as { model: "cohere/rerank-v3.5" }; {} needs no provider. */
  reranker?: Fields<typeof RerankerSchema>;
  /** Returns only sources that score more than this in the search. */
  minScore?: number;
  /** Returns only sources whose similarity is greater than this. */
  minSimilarity?: number;
  /** The fraction of the nearest chunks that an approximate search finds, 0.9 to 0.999. Default: that of the index. */
  recallTarget?: number;
  /** Ranks recent chunks higher, by a metadata field with dates. */
  boost?: Fields<typeof BoostSchema>;
  /** Several boosts instead of boost. */
  boosts?: Fields<typeof BoostSchema>[];
  /** A ranking profile of the index, as name or name@version; "none" for no profile. Default: that of the index, if it has one. */
  profile?: string;
  /** Adds which passage and words match. */
  highlight?: boolean;
  /** Adds timings and the plan; of a graph query also the nodes and edges of the walk. */
  explain?: boolean;
  /** Whether near-identical passages are one source, which names the other places in alsoIn. Default: true. */
  distinct?: boolean;
  /** Shows more of a document: its section, if that is short or has several of the chunks found, its neighbours, or the document. */
  expand?: "section" | "neighbours" | "document";
  includeVectors?: boolean;
  /** Default: true. */
  includeSources?: boolean;
  /** How stale the answer may be, in milliseconds: it may then come from a replica. Default: as the service is set. */
  maxStalenessMs?: number;
  /** The token of a write that the answer has to contain, which onWriteToken got. */
  writeToken?: string;
  /** Most tokens of relevantContext, 512 to 1000000: the best sources come first, the last is cut at the end of a sentence. Default: no limit. */
  maxTokens?: number;
  /** The encoding that counts them. Default: cl100k_base. */
  encodingName?: string;
}

/** Settings of a query. */
export interface QueryOptions extends SearchOptions {
  /** Finds what is like examples, instead of a vector; the question may then be empty. */
  like?: Fields<typeof LikeSchema>;
  /** How the question is read: web as people type it, with "a phrase", -without, title:word, prefix* and OR. */
  syntax?: "web";
  /** Chunks of the same document to add before and after each source, 0 to 10. */
  neighbours?: number;
  /** From 0 (relevance alone) to 1 (sources as different as possible). */
  diversity?: number;
  /** Most sources of one document. Default: no limit. */
  maxPerDocument?: number;
  /** Orders by metadata fields instead of the score; without text and vector, all chunks of the filter. */
  orderBy?: Fields<typeof OrderBySchema>[];
  /** Groups by a metadata field: topK groups of up to size sources, 3 by default. */
  groupBy?: Fields<typeof GroupBySchema>;
  /** Returns pages of so many sources, 1 to 1000, instead of topK. */
  pageSize?: number;
  /** nextPageToken of the page before, with the same settings. */
  pageToken?: string;
  /** Whether the last word of the text may be the beginning of one, as in a search while it is typed. */
  prefix?: boolean;
  /** How vector and keyword search are combined. */
  hybrid?: Fields<typeof HybridSchema>;
  /** Options as other vector stores name them. */
  databaseConfig?: Fields<typeof DatabaseConfigSchema>;
}

/** What to suggest. */
export interface SuggestOptions extends CallOptions {
  /** Most suggestions, 1 to 20. Default: 10. */
  limit?: number;
  /** The namespace. Default: "default". */
  namespace?: string;
}

/** What to count. */
export interface CountOptions extends CallOptions {
  /** A filter over metadata, see docs/reference/filters.md. */
  filter?: JsonObject;
  /** Counts only chunks that keyword search matches; with nearest, the question of the search. */
  text?: string;
  /** The fields whose values are counted, such as [{ field: "kind" }]. */
  facets?: Fields<typeof FacetSchema>[];
  /** The namespace to count in. Default: "default". */
  namespace?: string;
  /** Counts only the first chunks of a search, 1 to 1000. */
  nearest?: number;
  /** With nearest: a ready-made embedding of the question. */
  vector?: number[];
  /** With nearest. Default: hybrid. */
  mode?: "vector" | "keyword" | "hybrid";
  /** How stale the answer may be, in milliseconds: it may then come from a replica. Default: as the service is set. */
  maxStalenessMs?: number;
  /** The token of a write that is to be counted, which onWriteToken got. */
  writeToken?: string;
}

/** Settings of a graph query. */
export interface GraphOptions extends SearchOptions {
  /** How the graph is walked. */
  walk?: Fields<typeof GraphOptionsSchema>;
  /** global answers broad questions from topics. Default: local. */
  scope?: "local" | "global";
  /** With explain: most nodes that are returned. */
  explainNodes?: number;
}

/** Settings of a list of documents. */
export interface DocumentsOptions extends CallOptions {
  /** A filter over the documents' metadata. */
  filter?: JsonObject;
  namespace?: string;
  /** pending, processing, ready, failed or needs_ocr. */
  status?: string;
  /** Lists only documents whose uri or title contains this text. */
  search?: string;
}

/** A document by its id or its uri. */
export type DocumentName = { documentId: string } | { uri: string; namespace?: string };

/** The documents to delete: those of a list, of a filter, or of a whole namespace. */
export interface DeleteOptions extends CallOptions {
  documentIds?: string[];
  uris?: string[];
  filter?: JsonObject;
  namespace?: string;
  /** Reports what would be deleted, and deletes nothing. */
  dryRun?: boolean;
}

/** Settings of an index. */
export type IndexSettings = Omit<Fields<typeof CreateIndexRequestSchema>, "indexName">;

/** Changes of an index's settings. */
export type IndexChanges = Omit<Fields<typeof UpdateIndexRequestSchema>, "indexName">;

/** The generated clients that an index uses. */
export interface Services {
  documents: Client<typeof DocumentService>;
  indexes: Client<typeof IndexService>;
  queries: Client<typeof QueryService>;
  evaluate: Client<typeof EvaluateService>;
}

/** RagdIndex is an index of the tenant. It need not exist before it is created. */
export class RagdIndex {
  /** The name of the index. */
  readonly name: string;
  /** The settings of the client that it belongs to. */
  readonly options: RagdOptions;
  readonly #services: Services;

  constructor(name: string, options: RagdOptions, services: Services) {
    if (typeof name !== "string" || name === "") throw invalid("name", "must be the name of an index");
    this.name = name;
    this.options = options;
    this.#services = services;
  }

  /** create creates the index. One that exists with the same settings is left as it is. */
  create(settings: IndexSettings = {}, call: CallOptions = {}): Promise<Index> {
    return unary(this.options, call, (options) => this.#services.indexes.createIndex({ ...settings, indexName: this.name }, options));
  }

  /** describe returns the settings of the index and its counts. */
  describe(call: CallOptions = {}): Promise<Index> {
    return unary(this.options, call, (options) => this.#services.indexes.describeIndex({ indexName: this.name }, options));
  }

  /** update changes the given settings. */
  update(changes: IndexChanges, call: CallOptions = {}): Promise<Index> {
    return unary(this.options, call, (options) => this.#services.indexes.updateIndex({ ...changes, indexName: this.name }, options));
  }

  /** truncate removes all documents and vectors. */
  async truncate(call: CallOptions = {}): Promise<void> {
    await unary(this.options, call, (options) => this.#services.indexes.truncateIndex({ indexName: this.name }, options));
  }

  /** drop removes the index with all that it holds. */
  async drop(call: CallOptions = {}): Promise<void> {
    await unary(this.options, call, (options) => this.#services.indexes.deleteIndex({ indexName: this.name }, options));
  }

  /**
   * upload stores a document and waits until it can be searched. A document with the uri of an earlier
   * one replaces it; the same content again changes nothing. Throws a JobError if the document cannot be
   * processed. A folder of files: uploadFolder of @ragd/client/node.
   */
  async upload(source: UploadSource, options: UploadOptions = {}): Promise<UploadResult> {
    try {
      return await this.#upload(source, options);
    } catch (error) {
      throw error instanceof RagdError ? error : thrown(error, options.signal);
    }
  }

  async #upload(source: UploadSource, options: UploadOptions): Promise<UploadResult> {
    const content = await contentOf(source, options.signal);
    const request = requestOf(this.name, source, options);
    const total = "whole" in content ? content.whole.length : "blob" in content ? content.blob.size : undefined;
    const report = new Report(request.uri, total, options.onProgress);
    report.sent(0);
    let stored: { job?: Job | undefined; document?: Document | undefined };
    if ("whole" in content) {
      request.source = { case: "content", value: content.whole };
      stored = await unary(this.options, options, (call) => this.#services.documents.uploadDocument(request, call));
      report.sent(content.whole.length);
    } else {
      const send = async () => {
        const { results } = await uploadStream(this.options, options, request, content, (bytes) => report.sent(bytes));
        if (results[0]?.error) throw refused(results[0].error);
        return results[0]!;
      };
      // A Blob can be read again, a stream cannot.
      stored = await ("blob" in content ? repeat(this.options.retry, options.signal, send) : send());
    }
    let { job, document } = stored;
    if (!job) throw new RagdError("the answer has no job", { code: "internal" });
    if (options.wait ?? true) {
      job = await this.#wait(job, options, (changed) => report.processing(changed));
      if (job.status !== "succeeded") throw new JobError(`${request.uri}: ${job.error || `the job is ${job.status}`}`, job);
      document = undefined; // it has changed
    }
    document ??= await this.document({ documentId: job.documentId }, options);
    report.done();
    return { document, job };
  }

  /**
   * wait returns a job when it has ended, whether it has succeeded or not. onChange is called with each
   * change.
   */
  async wait(job: Job, call: CallOptions = {}, onChange?: (job: Job) => void): Promise<Job> {
    try {
      return await this.#wait(job, call, onChange);
    } catch (error) {
      throw thrown(error, call.signal);
    }
  }

  async #wait(job: Job, call: CallOptions, onChange?: (job: Job) => void): Promise<Job> {
    const options = { signal: call.signal, headers: headersFor(this.options, call) };
    for (let attempt = 1; !["succeeded", "failed", "cancelled"].includes(job.status); attempt++) {
      try {
        for await (const changed of this.#services.documents.watchJob({ jobId: job.jobId }, options)) {
          attempt = 1;
          job = changed;
          onChange?.(job);
        }
      } catch (error) {
        // When an instance stops, its streams end and another instance goes on with the job.
        const pause = call.signal?.aborted ? undefined : pauseBefore(attempt, error, this.options.retry);
        if (pause === undefined) throw error;
        await sleep(pause, call.signal);
      }
    }
    return job;
  }

  /** query returns the chunks that match a question best. The question may be empty if a vector is given. */
  query(text: string, options: QueryOptions = {}): Promise<VectorQueryResponse> {
    const { like, neighbours, diversity, maxPerDocument, orderBy, groupBy, pageSize, pageToken, prefix, syntax, hybrid, databaseConfig } = options;
    const request = { ...this.#search(text, options), like, neighbours, diversity, maxPerDocument, orderBy, groupBy, pageSize, pageToken, prefix, querySyntax: syntax, hybrid, databaseConfig };
    return unary(this.options, options, (call) => this.#services.queries.vectorQuery(request, call));
  }

  /** suggest completes what is being typed into a search. */
  suggest(prefix: string, options: SuggestOptions = {}): Promise<SuggestResponse> {
    const { limit, namespace } = options;
    return unary(this.options, options, (call) => this.#services.queries.suggest({ indexName: this.name, prefix, limit, namespace }, call));
  }

  /** count counts chunks and documents exactly, by the values of fields too. */
  count(options: CountOptions = {}): Promise<CountChunksResponse> {
    const { filter, text, facets, namespace, nearest, vector, mode, maxStalenessMs, writeToken } = options;
    const request = {
      indexName: this.name,
      queryText: text,
      filter: filter && fromJson(ValueSchema, filter),
      facets,
      namespace,
      nearest,
      queryVector: vector,
      searchMode: mode,
      maxStaleness: maxStalenessMs === undefined ? undefined : durationFromMs(maxStalenessMs),
      writeToken,
    };
    return unary(this.options, options, (call) => this.#services.queries.countChunks(request, call));
  }

  /** graph searches by walking the graph of the index, from what matches the question and the names in it. */
  graph(text: string, options: GraphOptions = {}): Promise<GraphRagResponse> {
    const { walk, scope, explainNodes } = options;
    const request = { ...this.#search(text, options), graphOptions: walk, scope, explainNodes };
    return unary(this.options, options, (call) => this.#services.queries.graphRag(request, call));
  }

  /** feedback says whether a source of an answer helped, by the queryId of the answer; undefined takes back what was said. */
  feedback(queryId: string, source: string, helpful: boolean | undefined, call: CallOptions = {}): Promise<RecordFeedbackResponse> {
    return unary(this.options, call, (options) => this.#services.evaluate.recordFeedback({ queryId, source, helpful, withdraw: helpful === undefined }, options));
  }

  #search(text: string, options: SearchOptions) {
    const { topK, mode, namespace, vector, reranker, minScore, minSimilarity, recallTarget, boost, boosts, profile, highlight, distinct, expand, explain, includeVectors, includeSources, maxStalenessMs, writeToken, maxTokens, encodingName } = options;
    return {
      indexName: this.name,
      queryText: text,
      queryVector: vector,
      filter: options.filter && fromJson(ValueSchema, options.filter),
      searchMode: mode,
      topK, namespace, reranker, minScore, minSimilarity, recallTarget, boost, boosts, profile, highlight, distinct, expand, explain, includeVectors, includeSources, writeToken, maxTokens, encodingName,
      maxStaleness: maxStalenessMs === undefined ? undefined : durationFromMs(maxStalenessMs),
    };
  }

  /** documents yields the documents in the order of their creation. */
  documents(options: DocumentsOptions = {}): AsyncGenerator<Document> {
    const { filter, namespace, status, search } = options;
    const list = (pageToken: string) =>
      unary(this.options, options, (call) =>
        this.#services.documents.listDocuments({ indexName: this.name, filter, namespace, status, search, pageSize: 1000, pageToken }, call),
      );
    return pages(list, (page) => page.documents);
  }

  /** document returns a document. */
  document(name: DocumentName, call: CallOptions = {}): Promise<Document> {
    return unary(this.options, call, (options) => this.#services.documents.getDocument({ ...name, indexName: this.name }, options));
  }

  /** read returns the text that was read from a document, or the range of bytes of it, or what of that has maxTokens at most. */
  read(name: DocumentName, range: { startByte?: number; endByte?: number; maxTokens?: number; encodingName?: string } = {}, call: CallOptions = {}): Promise<ReadDocumentResponse> {
    return unary(this.options, call, (options) => this.#services.documents.readDocument({ ...name, ...range, indexName: this.name }, options));
  }

  /** download yields the bytes of a document as it was uploaded. */
  async *download(name: DocumentName, call: CallOptions = {}): AsyncGenerator<Uint8Array> {
    const messages = stream(this.options, call, (options) => this.#services.documents.downloadDocument({ ...name, indexName: this.name }, options));
    for await (const { part } of messages) if (part.case === "content") yield part.value;
  }

  /** chunks yields the chunks of a document in reading order. */
  chunks(documentId: string, call: CallOptions = {}): AsyncGenerator<Chunk> {
    const list = (pageToken: string) =>
      unary(this.options, call, (options) => this.#services.documents.listChunks({ indexName: this.name, documentId, pageSize: 1000, pageToken }, options));
    return pages(list, (page) => page.chunks);
  }

  /** delete removes documents: give exactly one of documentIds, uris and filter, or a namespace alone. */
  delete(options: DeleteOptions): Promise<DeleteDocumentsResponse> {
    const { documentIds, uris, filter, namespace, dryRun } = options;
    const request = { indexName: this.name, documentIds, uris, filter, namespace, dryRun };
    return unary(this.options, options, (call) => this.#services.documents.deleteDocuments(request, call));
  }

  /** topics yields what the documents are about, each topic followed by its subtopics. */
  topics(call: CallOptions = {}): AsyncGenerator<Topic> {
    const list = (pageToken: string) =>
      unary(this.options, call, (options) => this.#services.queries.listTopics({ indexName: this.name, pageSize: 1000, pageToken }, options));
    return pages(list, (page) => page.topics);
  }
}
