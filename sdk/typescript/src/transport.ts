import type { DescMessage, JsonObject, Message, MessageInitShape } from "@bufbuild/protobuf";
import { Code, type CallOptions as ConnectCallOptions, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { invalid, thrown } from "./errors.js";
import { idempotencyHeader, type RetryOptions, retrying } from "./retry.js";

/** Settings of a client. */
export interface RagdOptions {
  /** Address of the service, such as http://127.0.0.1:8484. */
  url: string;
  /** An API key, or an access token; a function is called before each request. Without it no credential is sent. */
  apiKey?: string | (() => string | Promise<string>);
  /** The tenant that an operator's key acts for, or whose issuer made the access token. */
  tenant?: string;
  /** Request context of all calls, see docs/reference/context.md. */
  context?: JsonObject;
  /** Headers of all requests. */
  headers?: Record<string, string>;
  /** How failed calls are repeated. */
  retry?: RetryOptions;
  /** Time limit of a call with its repetitions, in milliseconds. Streams have none. Default: 60,000; 0: none. */
  timeoutMs?: number;
  /** The function that sends requests. Default: the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** Settings of one call. */
export interface CallOptions {
  /** Ends the call. It then throws the signal's reason. */
  signal?: AbortSignal;
  /** Takes the place of the client's timeoutMs. */
  timeoutMs?: number;
  /** Request context of this call, merged over that of the client. */
  context?: JsonObject;
  /** Headers of this call, over those of the client. */
  headers?: Record<string, string>;
  /**
   * With the same key, of up to 255 characters, the same call within 24 hours runs once, and its repeats get the
   * answer of the first, from this program or another. Default: one of the client's where it repeats the call.
   */
  idempotencyKey?: string;
  /** Is called with the write token of the answer, if it has one, which a query may send. */
  onWriteToken?: (token: string) => void;
}

/** The header in which the request context is sent. */
const contextHeader = "Ragd-Context";

/** encodeContext returns a request context as the value of a header, which is ASCII. */
export function encodeContext(context: JsonObject): string {
  return JSON.stringify(context).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** baseUrl returns the address without a slash at its end. */
export function baseUrl(url: unknown): string {
  if (typeof url !== "string" || !/^https?:\/\/[^/]/.test(url)) {
    throw invalid("url", "must be the address of the service, such as http://127.0.0.1:8484");
  }
  return url.replace(/\/+$/, "");
}

/** The fields of a message, all optional. */
export type Fields<S extends DescMessage> = Omit<Exclude<MessageInitShape<S>, Message>, "$typeName">;

/** headersFor returns the headers of a call. */
export function headersFor(client: RagdOptions, call: CallOptions): Record<string, string> {
  const headers = { ...call.headers };
  if (call.idempotencyKey !== undefined) headers[idempotencyHeader] = call.idempotencyKey;
  if (call.context) headers[contextHeader] = encodeContext({ ...client.context, ...call.context });
  return headers;
}

/** unary makes a call with its options and turns what it throws into a RagdError. */
export async function unary<T>(client: RagdOptions, call: CallOptions, send: (options: ConnectCallOptions) => Promise<T>): Promise<T> {
  const timeoutMs = call.timeoutMs ?? client.timeoutMs ?? 60_000;
  try {
    const onHeader = (header: Headers) => {
      const token = header.get("Ragd-Write-Token");
      if (token) call.onWriteToken?.(token);
    };
    return await send({ signal: call.signal, timeoutMs, headers: headersFor(client, call), onHeader });
  } catch (error) {
    throw thrown(error, call.signal);
  }
}

/** stream yields the messages of a call and turns what it throws into a RagdError. */
export async function* stream<T>(client: RagdOptions, call: CallOptions, send: (options: ConnectCallOptions) => AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* send({ signal: call.signal, timeoutMs: call.timeoutMs, headers: headersFor(client, call) });
  } catch (error) {
    throw thrown(error, call.signal);
  }
}

/** pages yields the items of all pages of a list. */
export async function* pages<P extends { nextPageToken: string }, T>(load: (pageToken: string) => Promise<P>, items: (page: P) => T[]): AsyncGenerator<T> {
  let pageToken = "";
  do {
    const page = await load(pageToken);
    yield* items(page);
    pageToken = page.nextPageToken;
  } while (pageToken);
}

/** setHeaders sets the headers that all requests of a client have, unless the call has set them. */
export async function setHeaders(options: RagdOptions, header: Headers): Promise<void> {
  const set = (name: string, value: string) => {
    if (!header.has(name)) header.set(name, value);
  };
  for (const [name, value] of Object.entries(options.headers ?? {})) set(name, value);
  if (options.tenant) set("Ragd-Tenant", options.tenant);
  if (options.context) set(contextHeader, encodeContext(options.context));
  if (options.apiKey && !header.has("Authorization")) {
    const key = typeof options.apiKey === "function" ? await options.apiKey() : options.apiKey;
    header.set("Authorization", `Bearer ${key}`);
  }
}

/**
 * reach returns a fetch whose failure to get an answer is an error with the code unavailable. Redirects
 * are not followed; edge runtimes know no redirect "error".
 */
export function reach(options: RagdOptions): typeof globalThis.fetch {
  return async (input, init) => {
    const send = options.fetch ?? globalThis.fetch;
    try {
      return await send(input, { ...init, redirect: "manual" });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
      throw new ConnectError(`cannot reach ${options.url}: ${error.message}${cause}`, Code.Unavailable, undefined, undefined, error);
    }
  };
}

/** newTransport returns a transport with the client's credentials and retries. */
export function newTransport(options: RagdOptions): Transport {
  const complete: Interceptor = (next) => async (request) => {
    await setHeaders(options, request.header);
    return next(request);
  };
  return createConnectTransport({
    baseUrl: baseUrl(options.url),
    useBinaryFormat: true, // JSON would write the bytes of files in base64
    interceptors: [retrying(options.retry), complete],
    fetch: reach(options),
  });
}
