import { Button, Group, Skeleton, Text } from "@mantine/core";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { chosenTenant } from "@/app/tenant";
import { interceptors } from "@/app/transport";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { ErrorView } from "@/ui/ErrorView";
import { boxesOf, pageOf, type PageBoxes } from "./places";
import { TextView } from "./TextView";
import classes from "./Read.module.css";

const documents = createClient(DocumentService, createConnectTransport({ baseUrl: window.location.origin, useBinaryFormat: true, interceptors }));

/** pixels is the width of the pictures. */
const pixels = 1400;

/** PageView shows the page of a PDF file that a source is on, with its text and its best sentences marked, and the other pages. */
export function PageView({ indexName, source }: { indexName: string; source: Source }) {
  const [page, setPage] = useState(pageOf(source) ?? 1);
  const { documentId } = source;
  const picture = useQuery({
    queryKey: ["page", chosenTenant(), indexName, documentId, page],
    queryFn: ({ signal }) => documents.renderPage({ indexName, documentId, page, width: pixels }, { signal }),
    staleTime: 600_000, gcTime: 60_000, placeholderData: (last) => last, retry: false,
  });
  const address = useMemo(() => picture.data && URL.createObjectURL(new Blob([picture.data.image as Uint8Array<ArrayBuffer>], { type: "image/png" })), [picture.data]);
  useEffect(() => () => {
    if (address) URL.revokeObjectURL(address);
  }, [address]);
  // Word says on which page text stands, but its files have no pages to show.
  if (picture.isError && ConnectError.from(picture.error).code === Code.FailedPrecondition) return <TextView indexName={indexName} source={source} />;
  if (picture.isError) return <ErrorView error={picture.error} retry={() => void picture.refetch()} />;
  if (picture.isPending) return <Skeleton h={500} aria-busy />;
  const { pageCount, width, height } = picture.data;
  const on = (all: PageBoxes[]) => all.filter((one) => one.page === page);
  return (
    <>
      <Group gap="xs" justify="center">
        <Button size="compact-xs" variant="default" disabled={page <= 1} aria-label="Page before" onClick={() => setPage(page - 1)}><IconChevronLeft size={14} /></Button>
        <Text size="sm" role="status">Page {page} of {pageCount}</Text>
        <Button size="compact-xs" variant="default" disabled={page >= pageCount} aria-label="Next page" onClick={() => setPage(page + 1)}><IconChevronRight size={14} /></Button>
      </Group>
      <div className={classes.page} data-stale={picture.isPlaceholderData || undefined}>
        <img src={address} width={width} height={height} alt={`Page ${page} of ${source.title || source.uri}`} />
        {!picture.isPlaceholderData && <Marks key={`t${page}`} pages={on(boxesOf(source))} kind="text" />}
        {!picture.isPlaceholderData && <Marks key={`b${page}`} pages={on(source.highlight?.boxes ?? [])} kind="best" />}
      </div>
    </>
  );
}

/** Marks draws boxes on a page, and scrolls to the first of the best ones. */
function Marks({ pages, kind }: { pages: PageBoxes[]; kind: "text" | "best" }) {
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (kind === "best") first.current?.scrollIntoView({ block: "center" });
  }, [kind, pages[0]?.page]);
  return pages.flatMap(({ width, height, boxes }) => boxes.map((box, n) => (
    <div
      key={n} ref={n === 0 ? first : undefined} className={classes.mark} data-kind={kind} aria-hidden
      style={{ left: `${(100 * box.left) / width}%`, top: `${(100 * box.top) / height}%`, width: `${(100 * (box.right - box.left)) / width}%`, height: `${(100 * (box.bottom - box.top)) / height}%` }}
    />
  )));
}
