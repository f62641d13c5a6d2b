import { useQuery } from "@connectrpc/connect-query";
import { DocumentService } from "@/gen/ragd/v1/document_pb";

/** useMarkdown reports whether the text of a document is Markdown: until the service has said so, what its name suggests. */
export function useMarkdown(indexName: string, documentId: string, uri: string): boolean {
  const document = useQuery(DocumentService.method.getDocument, { indexName, documentId }, { enabled: indexName !== "" && documentId !== "", retry: false, staleTime: 600_000, refetchOnWindowFocus: false });
  if (documentId === "") return false;
  return document.data ? isMarkdown(document.data.textContentType) : readsAsMarkdown(uri);
}

/** isMarkdown reports whether a media type is that of Markdown. Most formats are converted to it. */
export function isMarkdown(contentType = ""): boolean {
  return contentType.startsWith("text/markdown");
}

const plain = /\.(txt|text|log|csv|tsv|jsonl?|ya?ml|toml|ini|xml|sql|sh|bash|go|py|rb|rs|js|mjs|jsx|ts|tsx|java|kt|swift|cs|cpp|cc|c|h|hpp|php|pl|lua|r|scala|css)$/i;

/** readsAsMarkdown guesses by the name of a document whether its text is Markdown. */
export function readsAsMarkdown(uri: string): boolean {
  return !plain.test(uri.replace(/[?#].*$/, ""));
}
