import {
  type CreateIndexParams,
  type DeleteIndexParams,
  type DeleteVectorParams,
  type DeleteVectorsParams,
  type DescribeIndexParams,
  type IndexStats,
  MastraVector,
  type QueryResult,
  type QueryVectorParams,
  type UpdateVectorParams,
  type UpsertVectorParams,
} from "@mastra/core/vector";
import { type Ragd, RagdError } from "@ragd/client";
import { type ClientOptions, clientOf, type Entry, jsonObject, numbers, Vectors } from "../../vectors.mjs";
import { failed, invalid } from "./errors.js";
import type { RagdFilter } from "./filter.js";

/** Settings of a RagdVector: those of a client, or a client. */
export type RagdVectorOptions = {
  /** Id of the store in Mastra. Default: "ragd". */
  id?: string;
} & ClientOptions;

/** Arguments of createIndex beyond Mastra's; each has the service's default. */
export interface RagdCreateIndexParams extends CreateIndexParams {
  /** The Postgres index over the vectors. */
  indexConfig?: {
    type?: "hnsw" | "ivfflat" | "flat";
    hnsw?: { m?: number; efConstruction?: number };
    ivf?: { lists?: number };
  };
  vectorType?: "vector" | "halfvec" | "bit" | "sparsevec";
  /** Metadata fields that get Postgres indexes of their own. */
  metadataIndexes?: string[];
}

/** Arguments of upsert beyond Mastra's. */
export interface RagdUpsertParams extends UpsertVectorParams<RagdFilter> {
  /** Default: "default". */
  namespace?: string;
}

/** Arguments of query beyond Mastra's. Tools pass them in databaseConfig. */
export interface RagdQueryParams extends QueryVectorParams<RagdFilter> {
  /** Default: "default". */
  namespace?: string;
  /** Returns only results that score more than this. */
  minScore?: number;
  /** Search width of an HNSW index. Default: the measured one. */
  ef?: number;
  /** Lists that an IVFFlat search reads. Default: the measured number. */
  probes?: number;
}

export type RagdUpdateParams = UpdateVectorParams<RagdFilter> & { namespace?: string };
export type RagdDeleteParams = DeleteVectorParams & { namespace?: string };
export type RagdDeleteManyParams = DeleteVectorsParams<RagdFilter> & { namespace?: string };

/** What describeIndex returns beyond Mastra's. */
export interface RagdIndexStats extends IndexStats {
  type: string;
  vectorType: string;
}

/**
 * RagdVector is a Mastra vector store in ragd. Errors are MastraErrors with the service's message, the
 * category USER for what the caller can mend, and the service's code in details.code.
 */
export class RagdVector extends MastraVector<RagdFilter> {
  /** The client that the store uses. */
  readonly client: Ragd;

  constructor(options: RagdVectorOptions) {
    super({ id: options.id ?? "ragd" });
    this.client = clientOf(options);
  }

  /**
   * Creates an index of ready-made vectors. If there is one of that name, it must have the same
   * dimension; it may then also be one that ragd embeds documents for.
   */
  override async createIndex({ indexName, dimension, metric = "cosine", indexConfig, vectorType, metadataIndexes }: RagdCreateIndexParams): Promise<void> {
    if (!Number.isInteger(dimension) || dimension <= 0) {
      throw invalid("create_index", `Index "${indexName}": dimension must be a positive integer, but is ${dimension}`);
    }
    try {
      await this.client.index(indexName).create({ dimension, metric, indexConfig, vectorType, metadataIndexes });
    } catch (error) {
      if (RagdError.from(error).code !== "already_exists") throw failed("create_index", indexName, error);
      await this.validateExistingIndex(indexName, dimension, metric);
    }
  }

  /** Returns the names of all indexes of the tenant. */
  override async listIndexes(): Promise<string[]> {
    const names: string[] = [];
    try {
      for await (const index of this.client.indexes()) names.push(index.indexName);
      return names;
    } catch (error) {
      throw failed("list_indexes", undefined, error);
    }
  }

  /** Returns dimension, metric and number of vectors, of all namespaces. */
  override async describeIndex({ indexName }: DescribeIndexParams): Promise<RagdIndexStats> {
    try {
      const index = await this.client.index(indexName).describe();
      return {
        dimension: index.dimension,
        count: index.count,
        // Mastra knows no metrics for bits.
        metric: index.metric as IndexStats["metric"],
        type: index.indexConfig?.type ?? "",
        vectorType: index.vectorType,
      };
    } catch (error) {
      throw failed("describe_index", indexName, error);
    }
  }

  /** Deletes an index with all that it holds. An unknown index is no error. */
  override async deleteIndex({ indexName }: DeleteIndexParams): Promise<void> {
    try {
      await this.client.index(indexName).drop();
    } catch (error) {
      if (RagdError.from(error).code !== "not_found") throw failed("delete_index", indexName, error);
    }
  }

  /**
   * Stores vectors and returns their ids, in order. The text of an entry, for tools and keyword search, is
   * the string "text" of its metadata. Up to 10,000 vectors of at most 16 MiB are written together with
   * the deletion by deleteFilter, or not at all; more are written in several such steps.
   */
  override async upsert({ indexName, vectors, metadata, ids, sparseVectors, deleteFilter, namespace }: RagdUpsertParams): Promise<string[]> {
    if (!Array.isArray(vectors) || vectors.length === 0) throw invalid("upsert", "vectors: must not be empty");
    for (const [name, list] of Object.entries({ metadata: metadata?.length ? metadata : undefined, ids, sparseVectors })) {
      if (list && list.length !== vectors.length) {
        throw invalid("upsert", `${name}: has ${list.length} entries for ${vectors.length} vectors; give one for each`);
      }
    }
    try {
      const entries = vectors.map((values, n): Entry => {
        const fields = metadata?.[n];
        return {
          // Without ids of its own a request could not be repeated after a broken connection.
          id: ids?.[n] ?? globalThis.crypto.randomUUID(),
          values: numbers(`vectors[${n}]`, values),
          ...(fields && { metadata: jsonObject(`metadata[${n}]`, fields) }),
          ...(sparseVectors?.[n] && { sparseValues: sparseVectors[n] }),
        };
      });
      await this.#vectors(indexName).upsert(entries, { namespace, deleteFilter });
      return entries.map((entry) => entry.id);
    } catch (error) {
      throw failed("upsert", indexName, error);
    }
  }

  /**
   * Returns the entries nearest to queryVector, best first; without one those that the filter selects, by
   * id, with score 0.
   */
  override async query({ indexName, queryVector, topK = 10, filter, includeVector = false, sparseVector, namespace, minScore, ef, probes }: RagdQueryParams): Promise<QueryResult[]> {
    if (!Number.isInteger(topK) || topK <= 0) throw invalid("query", `topK: must be a positive integer, but is ${topK}`);
    try {
      const results = await this.#vectors(indexName).query({
        queryVector: queryVector && numbers("queryVector", queryVector),
        topK,
        filter,
        includeVector,
        sparseVector,
        namespace,
        minScore,
        ...((ef !== undefined || probes !== undefined) && { databaseConfig: { pgvector: { ef, probes } } }),
      });
      return results.map((result) => {
        const { id, score, metadata = {}, vector } = result;
        const document = result.document || (typeof metadata.text === "string" ? metadata.text : "");
        return {
          id,
          score,
          // Tools read the text of a chunk in its metadata.
          metadata: document !== "" && metadata.text === undefined ? { ...metadata, text: document } : metadata,
          ...(includeVector && { vector }),
          ...(document !== "" && { document }),
        };
      });
    } catch (error) {
      throw failed("query", indexName, error);
    }
  }

  /** Changes one entry by id, or all that a filter selects. Metadata is replaced, not merged. An unknown id is no error. */
  override async updateVector({ indexName, id, filter, update, namespace }: RagdUpdateParams): Promise<void> {
    try {
      if (update?.vector?.length === 0) throw invalid("update_vector", "update.vector: must not be empty");
      await this.#vectors(indexName).update({
        id,
        filter,
        values: update?.vector && numbers("update.vector", update.vector),
        metadata: update?.metadata && jsonObject("update.metadata", update.metadata),
        namespace,
      });
    } catch (error) {
      throw failed("update_vector", indexName, error);
    }
  }

  /** Deletes an entry. An unknown id is no error. */
  override async deleteVector({ indexName, id, namespace }: RagdDeleteParams): Promise<void> {
    await this.#remove("delete_vector", { indexName, ids: [id], namespace });
  }

  /** Deletes entries by their ids or by a filter; a whole namespace if only that is given. */
  override async deleteVectors({ indexName, ids, filter, namespace }: RagdDeleteManyParams): Promise<void> {
    if (ids && filter) throw invalid("delete_vectors", "ids and filter are mutually exclusive");
    if (ids?.length === 0) throw invalid("delete_vectors", "Cannot delete with empty ids array");
    if (!ids && !filter && namespace === undefined) throw invalid("delete_vectors", "Either filter or ids must be provided");
    await this.#remove("delete_vectors", { indexName, ids, filter, namespace });
  }

  async #remove(operation: string, { indexName, ...selection }: RagdDeleteManyParams): Promise<void> {
    try {
      await this.#vectors(indexName).remove(selection);
    } catch (error) {
      throw failed(operation, indexName, error);
    }
  }

  #vectors(indexName: string): Vectors {
    return new Vectors(this.client, indexName);
  }
}
