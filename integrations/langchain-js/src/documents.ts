import { BaseDocumentLoader, type DocumentLoader } from "@langchain/core/document_loaders/base";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import type { JsonObject, Ragd, RagdIndex, UploadOptions, UploadResult } from "@ragd/client";
import { type ClientOptions, clientOf, invalid, jsonObject } from "../../vectors.mjs";

/** Settings of uploadDocuments. */
export interface UploadDocumentsOptions extends Omit<UploadOptions, "uri" | "metadata" | "title"> {
  /** Returns the uri of a document. Default: its metadata.source. */
  uri?: (document: DocumentInterface) => string;
  /** Uploads at once. Default: 4. */
  concurrency?: number;
}

/**
 * uploadDocuments uploads documents of LangChain, or those of a loader, as documents of ragd, which splits
 * and embeds them. Documents of one uri, such as the pages of a file, become one document, with an empty
 * line between them and the metadata that all of them have. A document with the uri of an earlier one
 * replaces it. Returns the results in the order of the uris. After an error no further upload begins.
 */
export async function uploadDocuments(index: RagdIndex, source: DocumentInterface[] | DocumentLoader, options: UploadDocumentsOptions = {}): Promise<UploadResult[]> {
  const { uri: uriOf = (document) => document.metadata.source, concurrency = 4, ...upload } = options;
  const documents = Array.isArray(source) ? source : await source.load();
  const parts = new Map<string, DocumentInterface[]>();
  for (const [n, document] of documents.entries()) {
    const uri: unknown = uriOf(document);
    if (typeof uri !== "string" || uri === "") throw invalid(`documents[${n}]`, "has no metadata.source; give options.uri");
    parts.set(uri, [...(parts.get(uri) ?? []), document]);
  }
  const waiting = [...parts];
  const results: UploadResult[] = [];
  let next = 0;
  const work = async () => {
    while (next < waiting.length) {
      const n = next++;
      const [uri, pages] = waiting[n] as [string, DocumentInterface[]];
      const text = pages.map(({ pageContent }) => pageContent).join("\n\n");
      try {
        results[n] = await index.upload(text, { ...upload, uri, metadata: commonMetadata(uri, pages) });
      } catch (error) {
        next = waiting.length; // begins no further upload
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return results;
}

/** commonMetadata returns the metadata that all pages of a document have. */
function commonMetadata(uri: string, pages: DocumentInterface[]): JsonObject {
  const [first = {}, ...others] = pages.map(({ metadata }) => jsonObject(`metadata of ${uri}`, metadata ?? {}));
  const common = Object.entries(first).filter(([key, value]) => others.every((other) => JSON.stringify(other[key]) === JSON.stringify(value)));
  return Object.fromEntries(common);
}

/** Settings of a RagdLoader: an index, which of its documents, and a client or its settings. */
export type RagdLoaderOptions = {
  indexName: string;
  /** A filter over the documents' metadata. */
  filter?: JsonObject;
  namespace?: string;
} & ClientOptions;

/** Bytes of text that are read at once. */
const pieceBytes = 1 << 20;

/** RagdLoader loads the texts that ragd has read from documents of an index, such as PDF files. */
export class RagdLoader extends BaseDocumentLoader {
  readonly #client: Ragd;
  readonly #options: RagdLoaderOptions;

  constructor(options: RagdLoaderOptions) {
    super();
    this.#client = clientOf(options);
    this.#options = options;
  }

  /** Loads all documents that are ready. */
  override async load(): Promise<Document[]> {
    const documents: Document[] = [];
    for await (const document of this.lazyLoad()) documents.push(document);
    return documents;
  }

  /** Yields the documents one by one, in the order of their creation. */
  async *lazyLoad(): AsyncGenerator<Document> {
    const { indexName, filter, namespace } = this.#options;
    const index = this.#client.index(indexName);
    for await (const { documentId, uri, title, metadata, textByteSize } of index.documents({ filter, namespace, status: "ready" })) {
      let text = "";
      for (let startByte = 0; startByte < textByteSize; ) {
        const piece = await index.read({ documentId }, { startByte, endByte: Math.min(textByteSize, startByte + pieceBytes) });
        text += piece.text;
        startByte = piece.endByte;
      }
      yield new Document({ id: documentId, pageContent: text, metadata: { ...metadata, source: uri, title } });
    }
  }
}
