import { Skeleton } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef } from "react";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { ErrorView } from "@/ui/ErrorView";
import { isMarkdown } from "@/ui/text/kind";
import { Prose } from "@/ui/text/Prose";
import classes from "./Read.module.css";

/** around is how many bytes of text are shown before and after a source. */
const around = 4000;

/** TextView shows the text of a document around a source, whose words that match are marked. */
export function TextView({ indexName, source }: { indexName: string; source: Source }) {
  const { documentId, startByte, endByte } = source;
  const text = useQuery(DocumentService.method.readDocument, { indexName, documentId, startByte: Math.max(0, startByte - around), endByte: endByte + around }, { enabled: documentId !== "", retry: false, staleTime: 60_000 });
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    ref.current?.scrollIntoView({ block: "center" });
  }, [text.data]);
  if (documentId === "") return <Prose text={source.document} markdown={false} matches={source.highlight?.matches} />;
  if (text.isError) return <ErrorView error={text.error} retry={() => void text.refetch()} />;
  if (text.isPending) return <Skeleton h={300} aria-busy />;
  const markdown = isMarkdown(text.data.contentType);
  const bytes = new TextEncoder().encode(text.data.text);
  const decode = (from: number, to: number) => new TextDecoder().decode(bytes.slice(Math.max(0, from - text.data.startByte), Math.max(0, to - text.data.startByte)));
  const piece = decode(startByte, endByte);
  return (
    <div className={classes.text}>
      {startByte > text.data.startByte && <Prose text={decode(text.data.startByte, startByte)} markdown={markdown} />}
      <div ref={ref} className={classes.piece}><Prose text={piece} markdown={markdown} matches={piece === source.document ? source.highlight?.matches : undefined} /></div>
      {endByte < text.data.endByte && <Prose text={decode(endByte, text.data.endByte)} markdown={markdown} />}
    </div>
  );
}
