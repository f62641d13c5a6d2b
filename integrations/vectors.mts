/**
 * Calls of VectorService for the adapters in TypeScript: entries, filters and batches. It is no package;
 * the build of each adapter includes it.
 */
import { type CallOptions, type JsonObject, Ragd, RagdError, type RagdOptions } from "@ragd/client";
import { type QueryResult, VectorService } from "@ragd/client/api";

/** A client, or the settings of one. */
export type ClientOptions = RagdOptions | { client: Ragd };

/** clientOf returns the client of an adapter's settings. */
export function clientOf(options: ClientOptions): Ragd {
  return "client" in options ? options.client : new Ragd(options);
}

/** A vector to store. */
export interface Entry {
  id: string;
  values: number[];
  metadata?: JsonObject;
  /** The text. Default: the string "text" of the metadata. */
  document?: string;
  sparseValues?: { indices: number[]; values: number[] };
}

/** What to search for. */
export interface Search {
  queryVector?: number[];
  topK?: number;
  filter?: object | null;
  includeVector?: boolean;
  namespace?: string;
  minScore?: number;
  sparseVector?: { indices: number[]; values: number[] };
  databaseConfig?: { pgvector: { ef?: number; probes?: number } };
}

/** What to change in one entry, or in those that a filter selects. */
export interface Change {
  id?: string;
  filter?: object | null;
  values?: number[];
  metadata?: JsonObject;
  namespace?: string;
}

/** invalid returns the error for an argument that an adapter refuses by itself. */
export function invalid(field: string, description: string, cause?: unknown): RagdError {
  return new RagdError(`${field}: ${description}`, { code: "invalid_argument", fieldViolations: [{ field, description }], cause });
}

/** Most entries or ids of one request, and the size at which a batch is sent before it has as many. */
const maxEntries = 10_000;
const maxBatchBytes = 16 << 20;

/** jsonObject returns metadata as JSON has it: dates as ISO strings, without undefined values and functions. */
export function jsonObject(field: string, value: object): JsonObject {
  try {
    return JSON.parse(JSON.stringify(value)) as JsonObject;
  } catch (error) {
    throw invalid(field, `cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/**
 * filterValue returns a filter as the service takes it, which is also as a text. Dates become ISO strings
 * and regular expressions $regex with $options. A condition whose value is undefined would vanish and
 * select everything, so it is an error.
 */
export function filterValue(filter: object | null | undefined): { kind: { case: "stringValue"; value: string } } | undefined {
  if (filter === null || filter === undefined) return undefined;
  const json = JSON.stringify(filter, (key, value: unknown) => {
    if (value === undefined) throw invalid("filter", `${key} is undefined; use null to select what has no such field`);
    if (typeof value === "number" && !Number.isFinite(value)) throw invalid("filter", `${key} is not a finite number`);
    if (value instanceof RegExp) return pattern(value);
    if (value !== null && typeof value === "object" && "$regex" in value && value.$regex instanceof RegExp) return { ...pattern(value.$regex), ...value, $regex: value.$regex.source };
    return value;
  });
  return { kind: { case: "stringValue", value: json } };
}

function pattern(expression: RegExp): { $regex: string; $options?: string } {
  const options = expression.flags.replace(/[^ims]/g, "");
  return options === "" ? { $regex: expression.source } : { $regex: expression.source, $options: options };
}

/** numbers returns a vector if it is one. Texts and null would otherwise be taken for numbers. */
export function numbers(field: string, vector: number[]): number[] {
  if (!Array.isArray(vector)) throw invalid(field, "must be an array of numbers");
  const bad = vector.findIndex((value) => typeof value !== "number");
  if (bad >= 0) throw invalid(`${field}[${bad}]`, `must be a number, but is ${String(vector[bad])}`);
  return vector;
}

/** batches divides entries so that each batch fits into a request. */
export function* batches(entries: Entry[]): Generator<Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const texts = (entry.document?.length ?? 0) + JSON.stringify(entry.metadata ?? {}).length;
    // A UTF-16 unit takes at most three bytes.
    const size = 4 * entry.values.length + 8 * (entry.sparseValues?.indices.length ?? 0) + 3 * texts + 3 * entry.id.length + 64;
    if (batch.length > 0 && (batch.length === maxEntries || bytes + size > maxBatchBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

function clientOfService(client: Ragd) {
  return client.rpc(VectorService);
}

/** Vectors are the entries of an index. */
export class Vectors {
  readonly #client: Ragd;
  readonly #indexName: string;

  constructor(client: Ragd, indexName: string) {
    this.#client = client;
    this.#indexName = indexName;
  }

  /**
   * upsert stores entries in batches. The first batch and what deleteFilter deletes are one transaction;
   * so is each further batch.
   */
  async upsert(entries: Entry[], options: { namespace?: string; deleteFilter?: object | null } = {}): Promise<void> {
    let deleteFilter = filterValue(options.deleteFilter);
    for (const batch of batches(entries)) {
      await this.#call((service, call) => service.upsert({ indexName: this.#indexName, entries: batch, deleteFilter, namespace: options.namespace }, call));
      deleteFilter = undefined;
    }
  }

  /** query returns the entries nearest to a vector, or those that a filter selects. */
  async query(search: Search): Promise<QueryResult[]> {
    const request = { ...search, indexName: this.#indexName, filter: filterValue(search.filter) };
    return (await this.#call((service, call) => service.query(request, call))).results;
  }

  /** update changes entries. */
  async update(change: Change): Promise<void> {
    const request = { ...change, indexName: this.#indexName, filter: filterValue(change.filter) };
    await this.#call((service, call) => service.update(request, call));
  }

  /** remove deletes entries by ids or by a filter; a whole namespace if only that is given. */
  async remove({ ids, filter, namespace }: { ids?: string[]; filter?: object | null; namespace?: string }): Promise<void> {
    const indexName = this.#indexName;
    if (!ids) {
      const selected = filterValue(filter);
      await this.#call((service, call) => service.delete({ indexName, filter: selected, namespace }, call));
      return;
    }
    for (let start = 0; start < ids.length; start += maxEntries) {
      const batch = ids.slice(start, start + maxEntries);
      await this.#call((service, call) => service.delete({ indexName, ids: batch, namespace }, call));
    }
  }

  async #call<T>(send: (service: ReturnType<typeof clientOfService>, call: CallOptions) => Promise<T>): Promise<T> {
    const { timeoutMs = 60_000 } = this.#client.options;
    try {
      return await send(clientOfService(this.#client), { timeoutMs: timeoutMs || undefined });
    } catch (error) {
      throw RagdError.from(error);
    }
  }
}
