import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { IconDownload, IconMessageSearch, IconTrash } from "@tabler/icons-react";
import { useEffect, useMemo, useState } from "react";
import { Link, useParams } from "react-router";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import type { Chunk } from "@/gen/ragd/v1/chunk_pb";
import { DocumentService, type Document as DocumentMessage } from "@/gen/ragd/v1/document_pb";
import { Confirm } from "@/ui/Confirm";
import { ErrorView } from "@/ui/ErrorView";
import { Facts } from "@/ui/Facts";
import { bytes, count } from "@/ui/format";
import { Json } from "@/ui/Json";
import { notifyError } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { isMarkdown } from "@/ui/text/kind";
import { Prose, RawSwitch, WhenSeen } from "@/ui/text/Prose";
import { Time } from "@/ui/Time";
import { useParameters } from "@/ui/useParameter";
import { useRemoval } from "@/ui/useRemoval";
import { blocks, type Block } from "./blocks";
import { ChunkView } from "./ChunkView";
import { download } from "./download";
import { Edges } from "./Edges";
import classes from "./Document.module.css";

const documents = createClient(DocumentService, transport);

/** Document shows the text of a document, its chunks, and their metadata. */
export default function Document() {
  const { name = "", id = "" } = useParams();
  const document = useQuery(DocumentService.method.getDocument, { indexName: name, documentId: id });
  const crumbs = [{ to: "/", label: "Home" }, { to: `/indexes/${encodeURIComponent(name)}`, label: name }];
  if (document.isPending) return <Page title="Document" crumbs={crumbs}><Skeleton h={160} /></Page>;
  if (document.isError) return <Page title="Document" crumbs={crumbs}><ErrorView error={document.error} retry={() => void document.refetch()} /></Page>;
  const { data } = document;
  return (
    <Page title={data.title || data.uri} crumbs={crumbs} about={<bdi>{data.uri}</bdi>} actions={<Actions document={data} />}>
      <About document={data} />
      {data.textByteSize > 0 ? <DocumentText document={data} /> : <Panel><Text size="sm" c="dimmed">{data.status === "needs_ocr" ? "The document consists of scanned pages, and the service does not recognise characters." : "No text has been read yet."}</Text></Panel>}
    </Page>
  );
}

function Actions({ document }: { document: DocumentMessage }) {
  const { canWrite } = useSession();
  const removal = useRemoval();
  const [deleting, setDeleting] = useState(false);
  const { indexName, documentId, uri } = document;
  const remove = () => removal(() => documents.deleteDocument({ indexName, documentId }), `/indexes/${encodeURIComponent(indexName)}`);
  const filter = encodeURIComponent(JSON.stringify({ $uri: uri }));
  return (
    <>
      <Button variant="default" component={Link} to={`/ask?index=${encodeURIComponent(indexName)}&filter=${filter}`} leftSection={<IconMessageSearch size={16} />}>Ask about it</Button>
      <Button variant="default" leftSection={<IconDownload size={16} />} onClick={() => download(document).catch(notifyError)}>Download</Button>
      {canWrite && <Button variant="light" color="red" leftSection={<IconTrash size={16} />} onClick={() => setDeleting(true)}>Delete</Button>}
      <Confirm opened={deleting} onClose={() => setDeleting(false)} title="Delete the document?" action="Delete" onConfirm={remove}>
        <bdi>{uri}</bdi> and its chunks are deleted. This cannot be undone.
      </Confirm>
    </>
  );
}

function About({ document }: { document: DocumentMessage }) {
  return (
    <Panel>
      <Facts
        facts={[
          ["Status", <Status value={document.status} />],
          ["Error", document.error],
          ["Type", document.contentType],
          ["Size", bytes(document.byteSize)],
          ["Text", document.textByteSize ? `${bytes(document.textByteSize)}, ${document.textContentType}` : ""],
          ["Chunks", count(document.chunkCount)],
          ["Version", String(document.version)],
          ["Namespace", document.namespace === "default" ? "" : document.namespace],
          ["Changed", <Time value={document.updateTime} />],
        ]}
      />
      {document.metadata && Object.keys(document.metadata).length > 0 && <Json label="Metadata" value={document.metadata} />}
    </Panel>
  );
}


function DocumentText({ document }: { document: DocumentMessage }) {
  const { indexName, documentId } = document;
  const [params, change] = useParameters();
  const chosen = params.has("chunk") ? Number(params.get("chunk")) : undefined;
  const text = useInfiniteQuery(
    DocumentService.method.readDocument,
    { indexName, documentId, startByte: 0 },
    { pageParamKey: "startByte", getNextPageParam: (page) => (page.endByte < page.byteSize ? page.endByte : undefined), staleTime: 60_000 },
  );
  const chunks = useInfiniteQuery(
    DocumentService.method.listChunks,
    { indexName, documentId, pageSize: 1000, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined, staleTime: 60_000 },
  );
  const all = chunks.data?.pages.flatMap((page) => page.chunks) ?? [];
  const read = text.data?.pages.map((page) => page.text).join("") ?? "";
  const end = text.data?.pages.at(-1)?.endByte ?? 0;

  // A page has chunks for its text, and text for the chunk that the address names.
  const missingChunks = chunks.hasNextPage && (all.at(-1)?.endByte ?? 0) < end;
  const chosenChunk = all.find((chunk) => chunk.ordinal === chosen);
  const missingText = text.hasNextPage && chosenChunk !== undefined && chosenChunk.endByte > end;
  useEffect(() => {
    if (missingChunks && !chunks.isFetchingNextPage) void chunks.fetchNextPage();
    if (missingText && !text.isFetchingNextPage) void text.fetchNextPage();
  });

  if (text.isError) return <ErrorView error={text.error} retry={() => void text.refetch()} />;
  if (chunks.isError) return <ErrorView error={chunks.error} retry={() => void chunks.refetch()} />;
  if (text.isPending || chunks.isPending) return <Skeleton h={300} />;
  const choose = (ordinal: number | undefined) =>
    change((next) => (ordinal === undefined ? next.delete("chunk") : next.set("chunk", String(ordinal))));
  return (
    <div className={classes.columns}>
      <Panel title="Text" actions={<Group gap="md"><Text size="xs" c="dimmed">Every block is a chunk. Choose one to see what is stored with it.</Text>{isMarkdown(document.textContentType) && <RawSwitch />}</Group>}>
        <Blocks text={read} markdown={isMarkdown(document.textContentType)} chunks={all} chosen={chosen} choose={choose} />
        {text.hasNextPage && <Group><Button variant="default" size="xs" loading={text.isFetchingNextPage} onClick={() => void text.fetchNextPage()}>Show more text</Button></Group>}
      </Panel>
      <Stack className={classes.side}>
        {chosenChunk ? <ChunkView chunk={chosenChunk} last={document.chunkCount - 1} choose={choose} /> : <Panel><Text size="sm" c="dimmed">No chunk is chosen.</Text></Panel>}
        {chosenChunk && <Edges key={chosenChunk.ordinal} indexName={indexName} documentId={documentId} ordinal={chosenChunk.ordinal} />}
      </Stack>
    </div>
  );
}

interface BlocksProps {
  text: string;
  markdown: boolean;
  chunks: Chunk[];
  chosen?: number;
  choose: (ordinal: number | undefined) => void;
}

function Blocks({ text, markdown, chunks, chosen, choose }: BlocksProps) {
  useEffect(() => {
    document.getElementById(`chunk-${chosen}`)?.scrollIntoView({ block: "start" });
  }, [chosen === undefined, text.length > 0]); // eslint-disable-line
  return (
    <div className={classes.text} dir="auto">
      {useMemo(() => blocks(text, chunks), [text, chunks.length]).map((block) => (block.chunk === undefined ? (
        <div key={`gap-${block.start}`} className={classes.gap} dir="auto" title="In no chunk">{block.text}</div>
      ) : (
        <ChunkBlock key={block.chunk.ordinal} block={block} markdown={markdown} chunk={block.chunk} chosen={block.chunk.ordinal === chosen} choose={choose} />
      )))}
    </div>
  );
}


function ChunkBlock({ block, markdown, chunk, chosen, choose }: { block: Block; markdown: boolean; chunk: Chunk; chosen: boolean; choose: (ordinal: number | undefined) => void }) {
  const toggle = () => choose(chosen ? undefined : chunk.ordinal);
  return (
    // The mouse may click the whole block; the keyboard has the button.
    <div id={`chunk-${chunk.ordinal}`} className={classes.chunk} dir="auto" data-chosen={chosen || undefined} onClick={() => window.getSelection()?.isCollapsed && toggle()}>
      <button type="button" className={classes.number} aria-pressed={chosen} aria-label={`Chunk ${chunk.ordinal}`} onClick={(event) => (event.stopPropagation(), toggle())}>{chunk.ordinal}</button>
      {block.repeated > 0 && <span className={classes.repeated}>repeats {block.repeated} B of the chunk before</span>}
      <WhenSeen instead={block.text}><Prose text={block.text} markdown={markdown} lead={block.lead} /></WhenSeen>
    </div>
  );
}
