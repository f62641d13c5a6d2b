import { create, type JsonObject } from "@bufbuild/protobuf";
import { RagdError, invalid } from "./errors.js";
import type { ChunkingSchema } from "./gen/ragd/v1/chunk_pb.js";
import { type Document, type Job, type UploadDocumentRequest, UploadDocumentRequestSchema } from "./gen/ragd/v1/document_pb.js";
import type { CallOptions, Fields } from "./transport.js";

/** What can be uploaded: text, bytes, a file of a browser or of openAsBlob, or a stream of bytes. */
export type UploadSource = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** UploadProgress is how far an upload has come. */
export interface UploadProgress {
  /** sending, processing (the job splits and embeds the document), or done. */
  phase: "sending" | "processing" | "done";
  /** The uri of the document. */
  uri: string;
  sentBytes: number;
  /** Undefined for a stream, whose length is not known. */
  totalBytes: number | undefined;
  /** Chunks that are embedded, and all; 0 until they are known. */
  chunksDone: number;
  chunksTotal: number;
}

/** Settings of an upload. */
export interface UploadOptions extends CallOptions {
  /**
   * Names the document: an upload with the uri of an earlier one replaces it. Default: the name of a
   * File, else a generated one. A stream can be sent only once, so that its upload is not repeated.
   */
  uri?: string;
  title?: string;
  /** Media type. Default: that of the Blob, else found in the content and the uri. */
  contentType?: string;
  /** Copied into the metadata of all chunks, for filters. */
  metadata?: JsonObject;
  namespace?: string;
  /** How the document is split. Default: as the index says. */
  chunking?: Fields<typeof ChunkingSchema>;
  /** What a language model extracts, see docs/reference/extraction.md. */
  extract?: JsonObject;
  /** A value that changes with the content. */
  fingerprint?: string;
  /** Waits until the document can be searched. Default: true. */
  wait?: boolean;
  /** Called with each change. */
  onProgress?: (progress: UploadProgress) => void;
}

/** UploadResult is a stored document. */
export interface UploadResult {
  /** The document; with wait as it is after its processing. */
  document: Document;
  /** The job that processes it, or that had processed the same document before. */
  job: Job;
}

/** Longest content of one message. A longer one is sent in a stream. */
export const maxMessage = 8 << 20;

/** The source of an upload in the form in which it is sent. */
export type Content = { whole: Uint8Array } | { blob: Blob } | { stream: AsyncIterable<Uint8Array> };

/** contentOf returns a source as bytes if it is short, else as a Blob or a stream. */
export async function contentOf(source: UploadSource, signal?: AbortSignal): Promise<Content> {
  if (typeof source === "string") return blobOrWhole(new TextEncoder().encode(source));
  if (source instanceof Uint8Array) return blobOrWhole(source);
  if (source instanceof ArrayBuffer) return blobOrWhole(new Uint8Array(source));
  if (source instanceof Blob) {
    return source.size <= maxMessage ? { whole: new Uint8Array(await source.arrayBuffer()) } : { blob: source };
  }
  if (source === null || typeof source !== "object") {
    throw invalid("source", "must be a string, bytes, a Blob or a stream of bytes");
  }
  if (!(Symbol.asyncIterator in source) && !("getReader" in source)) {
    throw invalid("source", "must be a string, bytes, a Blob or a stream of bytes");
  }
  return beginningOf(pieces(source), signal);
}

function blobOrWhole(bytes: Uint8Array): Content {
  return bytes.length <= maxMessage ? { whole: bytes } : { blob: new Blob([bytes as Uint8Array<ArrayBuffer>]) };
}

/** pieces yields the pieces of a stream; some browsers cannot iterate over a ReadableStream. */
async function* pieces(source: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (Symbol.asyncIterator in source) {
    yield* source;
    return;
  }
  const reader = (source as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

/** beginningOf reads a stream to its end if it is short; else it returns a stream of all of it. */
async function beginningOf(stream: AsyncGenerator<Uint8Array>, signal?: AbortSignal): Promise<Content> {
  const read: Uint8Array[] = [];
  for (let size = 0; size <= maxMessage; ) {
    signal?.throwIfAborted();
    const { done, value } = await stream.next();
    if (done) return { whole: new Uint8Array(await new Blob(read as Uint8Array<ArrayBuffer>[]).arrayBuffer()) };
    if (!(value instanceof Uint8Array)) {
      await stream.return(undefined);
      throw invalid("source", "must yield bytes; encode text with TextEncoderStream");
    }
    read.push(value);
    size += value.length;
  }
  return {
    stream: (async function* () {
      yield* read;
      yield* stream;
    })(),
  };
}

/** requestOf returns the message that begins an upload, without its content. */
export function requestOf(indexName: string, source: UploadSource, options: UploadOptions): UploadDocumentRequest {
  const file = typeof File !== "undefined" && source instanceof File ? source : undefined;
  return create(UploadDocumentRequestSchema, {
    indexName,
    // Without a uri of its own a repeated upload would become a second document.
    uri: options.uri ?? (file?.webkitRelativePath || file?.name || `upload:${crypto.randomUUID()}`),
    title: options.title,
    contentType: options.contentType ?? (source instanceof Blob ? source.type : ""),
    metadata: options.metadata,
    namespace: options.namespace,
    chunking: options.chunking,
    extract: options.extract,
    fingerprint: options.fingerprint,
  });
}

/** Report keeps the state of an upload and calls onProgress. */
export class Report {
  readonly #state: UploadProgress;
  readonly #onProgress: UploadOptions["onProgress"];

  constructor(uri: string, totalBytes: number | undefined, onProgress: UploadOptions["onProgress"]) {
    this.#state = { phase: "sending", uri, sentBytes: 0, totalBytes, chunksDone: 0, chunksTotal: 0 };
    this.#onProgress = onProgress;
  }

  /** sent counts further bytes. */
  sent(bytes: number): void {
    this.#state.sentBytes += bytes;
    this.#report();
  }

  /** processing shows the progress of the job. */
  processing(job: Job): void {
    this.#state.phase = "processing";
    if (job.progress?.unit === "chunks") {
      this.#state.chunksDone = job.progress.done;
      this.#state.chunksTotal = job.progress.total;
    }
    this.#report();
  }

  done(): void {
    this.#state.phase = "done";
    this.#report();
  }

  #report(): void {
    this.#onProgress?.({ ...this.#state });
  }
}

/** refused returns the error for a document that UploadDocuments has not stored. */
export function refused(error: { code: string; message: string; field: string; retryDelaySeconds: number }): RagdError {
  return new RagdError(error.message, {
    code: error.code as RagdError["code"],
    fieldViolations: error.field ? [{ field: error.field, description: error.message }] : [],
    retryAfter: error.retryDelaySeconds || undefined,
  });
}

