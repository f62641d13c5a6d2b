import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { interceptors } from "@/app/transport";
import { DocumentService, type Document } from "@/gen/ragd/v1/document_pb";

const documents = createClient(DocumentService, createConnectTransport({ baseUrl: window.location.origin, useBinaryFormat: true, interceptors }));

/** download saves a document as it was uploaded. */
export async function download({ indexName, documentId, uri, contentType }: Document) {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const { part } of documents.downloadDocument({ indexName, documentId })) {
    if (part.case === "content") pieces.push(part.value as Uint8Array<ArrayBuffer>);
  }
  // Not with its own type: a browser must not show an uploaded page as one of the console's.
  const address = URL.createObjectURL(new Blob(pieces, { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = uri.split("/").at(-1) || `document.${contentType.split("/").at(-1) ?? "bin"}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
