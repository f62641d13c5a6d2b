import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { createEnvelopeReadableStream, encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFlag, endStreamFromJson } from "@connectrpc/connect/protocol-connect";
import { DocumentService, type UploadDocumentRequest, UploadDocumentsRequestSchema, type UploadDocumentsResponse, UploadDocumentsResponseSchema } from "./gen/ragd/v1/document_pb.js";
import { type CallOptions, type RagdOptions, baseUrl, headersFor, reach, setHeaders } from "./transport.js";

/** Bytes of content in one message of a stream. */
const pieceBytes = 1 << 20;

/**
 * uploadStream sends a document of any size with UploadDocuments. The transport of connect-web has no
 * streams from the client, so that this writes the messages of the Connect protocol itself. sent is
 * called with the number of bytes that are read from the source.
 */
export async function uploadStream(
  client: RagdOptions,
  call: CallOptions,
  request: UploadDocumentRequest,
  content: { blob: Blob } | { stream: AsyncIterable<Uint8Array> },
  sent: (bytes: number) => void,
): Promise<UploadDocumentsResponse> {
  const header = new Headers(headersFor(client, call));
  header.set("Content-Type", "application/connect+proto");
  header.set("Connect-Protocol-Version", "1");
  await setHeaders(client, header);
  const first = encodeEnvelope(0, toBinary(UploadDocumentsRequestSchema, create(UploadDocumentsRequestSchema, { part: { case: "document", value: request } })));
  const url = `${baseUrl(client.url)}/${DocumentService.typeName}/${DocumentService.method.uploadDocuments.name}`;
  const init: RequestInit & { duplex?: "half" } = { method: "POST", headers: header, signal: call.signal ?? null };
  if ("stream" in content && streamsRequests()) {
    const end = new AbortController();
    init.body = streamOf(first, content.stream, sent, end.signal);
    init.duplex = "half";
    try {
      return await read(await reach(client)(url, init));
    } finally {
      end.abort(); // Node.js reads on after the end of a request
    }
  }
  const blob = "blob" in content ? content.blob : await collect(content.stream);
  init.body = blobOf(first, blob);
  const response = await reach(client)(url, init);
  sent(blob.size);
  return read(response);
}

/** streamsRequests reports whether fetch can send a body while it is made: browsers cannot over HTTP/1.1. */
function streamsRequests(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return process?.versions?.node !== undefined; // Deno and Bun say so too
}

/** collect returns a stream as a Blob, which browsers keep on the disk. */
async function collect(stream: AsyncIterable<Uint8Array>): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of stream) parts.push(part as Uint8Array<ArrayBuffer>);
  return new Blob(parts);
}

/** blobOf returns the body of a request without reading the document. */
function blobOf(first: Uint8Array, content: Blob): Blob {
  const parts: BlobPart[] = [first as Uint8Array<ArrayBuffer>];
  for (let start = 0; start < content.size; start += pieceBytes) {
    const piece = content.slice(start, start + pieceBytes);
    parts.push(headOf(piece.size), piece);
  }
  return new Blob(parts);
}

/** streamOf returns the body of a request, which is made as it is sent, until end. */
function streamOf(first: Uint8Array, content: AsyncIterable<Uint8Array>, sent: (bytes: number) => void, end: AbortSignal): ReadableStream<Uint8Array> {
  async function* body() {
    yield first;
    for await (const part of content) {
      for (let start = 0; start < part.length; start += pieceBytes) {
        const piece = part.subarray(start, start + pieceBytes);
        yield headOf(piece.length);
        yield piece;
        sent(piece.length);
      }
    }
  }
  const pieces = body();
  return new ReadableStream({
    async pull(controller) {
      if (end.aborted) {
        await pieces.return(undefined);
        controller.error(end.reason);
        return;
      }
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}

/** headOf returns what precedes a piece of content: the envelope, and the field of the message. */
function headOf(size: number): Uint8Array<ArrayBuffer> {
  const field = UploadDocumentsRequestSchema.field.content.number;
  const prefix = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(size).finish();
  const head = new Uint8Array(5 + prefix.length);
  new DataView(head.buffer).setUint32(1, prefix.length + size);
  head.set(prefix, 5);
  return head;
}

/** read returns the answer to a stream, or throws its error. */
async function read(response: Response): Promise<UploadDocumentsResponse> {
  if (!response.ok || response.body === null) {
    throw new ConnectError(`the service answered with the HTTP status ${response.status}`, response.status === 503 ? Code.Unavailable : Code.Unknown, response.headers);
  }
  let answer: UploadDocumentsResponse | undefined;
  const reader = createEnvelopeReadableStream(response.body).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((value.flags & endStreamFlag) === 0) {
      answer = fromBinary(UploadDocumentsResponseSchema, value.data);
      continue;
    }
    const { error } = endStreamFromJson(value.data);
    if (error) {
      response.headers.forEach((text, name) => error.metadata.append(name, text));
      throw error;
    }
  }
  if (!answer) throw new ConnectError("the answer broke off", Code.Unavailable, response.headers);
  return answer;
}
