import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { interceptors } from "@/app/transport";
import { save } from "@/ui/save";
import { DocumentService, type Document } from "@/gen/ragd/v1/document_pb";

const documents = createClient(DocumentService, createConnectTransport({ baseUrl: window.location.origin, useBinaryFormat: true, interceptors }));

/** download saves a document as it was uploaded. */
export async function download({ indexName, documentId, uri, contentType }: Document) {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const { part } of documents.downloadDocument({ indexName, documentId })) {
    if (part.case === "content") pieces.push(part.value as Uint8Array<ArrayBuffer>);
  }
  // Not with its own type: a browser must not show an uploaded page as one of the console's.
  save(uri.split("/").at(-1) || `document.${contentType.split("/").at(-1) ?? "bin"}`, pieces);
}
