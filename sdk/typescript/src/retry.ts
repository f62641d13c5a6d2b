import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Interceptor, UnaryRequest } from "@connectrpc/connect";
import { RagdError } from "./errors.js";

/** How failed calls are repeated. */
export interface RetryOptions {
  /** How often a call is repeated at most. Default: 4; 0 never repeats. */
  maxRetries?: number;
  /** The first pause in milliseconds; each further one is twice as long. Default: 250. */
  initialDelayMs?: number;
  /**
   * The longest pause in milliseconds. A call is not repeated if the service asks for a longer one.
   * Default: 20,000.
   */
  maxDelayMs?: number;
}

/** The header with the key by which the service makes a call once. */
export const idempotencyHeader = "Idempotency-Key";

/**
 * repeatable has the calls that change something and may be made twice all the same, because a
 * second one with the same request finds the work done. The value says for which requests.
 */
const repeatable: Record<string, (message: object) => boolean> = {
  "ragd.v1.DocumentService.UploadDocument": (message) => "uri" in message && message.uri !== "",
  "ragd.v1.DocumentService.DeleteDocuments": () => true,
  "ragd.v1.DocumentService.SyncSource": () => true,
  "ragd.v1.DocumentService.CancelJob": () => true,
  "ragd.v1.EvaluateService.RecordFeedback": () => true,
  "ragd.v1.IndexService.CreateIndex": () => true,
  "ragd.v1.QueryService.ListTopics": () => true,
  "ragd.v1.VectorService.Upsert": (message) =>
    "entries" in message && Array.isArray(message.entries) && message.entries.every((entry: { id: string }) => entry.id !== ""),
  "ragd.v1.VectorService.Update": () => true,
  "ragd.v1.VectorService.Delete": () => true,
};

function mayRepeat(request: UnaryRequest): boolean {
  if (request.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return true;
  return repeatable[`${request.service.typeName}.${request.method.name}`]?.(request.message) ?? false;
}

/**
 * passes reports whether an error may pass by itself: the service does not answer, or asks to wait. A
 * limit without a time to wait, such as a quota, does not pass.
 */
export function passes(error: unknown): boolean {
  const { code, retryAfter } = RagdError.from(error);
  if (code === "resource_exhausted") return retryAfter !== undefined;
  return code === "unavailable" || code === "aborted";
}

/**
 * pauseBefore returns the milliseconds to wait before a call is repeated for the given time, from 1.
 * Undefined: it should not be repeated.
 */
export function pauseBefore(attempt: number, error: unknown, options: RetryOptions = {}): number | undefined {
  const { maxRetries = 4, initialDelayMs = 250, maxDelayMs = 20_000 } = options;
  const asked = (RagdError.from(error).retryAfter ?? 0) * 1000;
  if (attempt > maxRetries || asked > maxDelayMs || !passes(error)) return undefined;
  const backoff = Math.min(maxDelayMs, initialDelayMs * 2 ** (attempt - 1));
  // Callers that were refused together must not return together.
  return asked + backoff * (0.5 + Math.random() / 2);
}

/**
 * repeat calls send until it succeeds, or fails with an error that does not pass, or that ends it: that of an
 * update of something with an etag that is not the current one.
 */
export async function repeat<T>(
  options: RetryOptions | undefined,
  signal: AbortSignal | undefined,
  send: () => Promise<T>,
  ends: (error: unknown) => boolean = () => false,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const pause = signal?.aborted || ends(error) ? undefined : pauseBefore(attempt, error, options);
      if (pause === undefined) throw error;
      await sleep(pause, signal);
    }
  }
}

/**
 * retrying calls again what failed with an error that may pass. A call whose second time would do harm
 * has a key, by which the service makes it once.
 */
export function retrying(options: RetryOptions | undefined): Interceptor {
  return (next) => async (request) => {
    if (request.stream) return next(request);
    if (options?.maxRetries !== 0 && !mayRepeat(request) && !request.header.has(idempotencyHeader)) {
      request.header.set(idempotencyHeader, crypto.randomUUID());
    }
    const expects = "etag" in request.message && request.message.etag !== "";
    return repeat(options, request.signal, () => next(request), (error) => {
      const { code, retryAfter } = RagdError.from(error);
      return expects && code === "aborted" && retryAfter === undefined;
    });
  };
}

/** sleep waits, and throws the signal's reason when that is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
