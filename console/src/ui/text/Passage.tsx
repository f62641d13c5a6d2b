import { Prose } from "./Prose";
import type { ByteRange } from "./ranges";
import { useMarkdown } from "./kind";

interface Props {
  text: string;
  indexName: string;
  documentId: string;
  uri: string;
  matches?: ByteRange[];
  best?: ByteRange;
}

/** Passage shows a chunk of a document, as Markdown if the document's text is. */
export function Passage({ indexName, documentId, uri, ...text }: Props) {
  return <Prose markdown={useMarkdown(indexName, documentId, uri)} {...text} />;
}
