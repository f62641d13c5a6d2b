import { Anchor, Button, Checkbox, Group, Select, Skeleton, Stack, TextInput, Tooltip } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { IconRefresh, IconSearch, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { DocumentService, type Document } from "@/gen/ragd/v1/document_pb";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { bytes, count, plural } from "@/ui/format";
import { notifyDone, notifyError } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useParameters } from "@/ui/useParameter";
import { retryDocuments } from "./retry";
import { Upload } from "./Upload";

const documents = createClient(DocumentService, transport);
const statuses = ["ready", "pending", "processing", "failed", "needs_ocr"];

/** Documents lists the documents of an index, and uploads others. */
export function Documents({ indexName }: { indexName: string }) {
  const { canWrite } = useSession();
  const [params, set] = useParameters();
  const status = params.get("status") ?? "";
  const search = params.get("search") ?? "";
  const order = params.get("order") ?? "";
  const [asked] = useDebouncedValue(search, 250);
  const list = useInfiniteQuery(
    DocumentService.method.listDocuments,
    { indexName, status, pageSize: 100, pageToken: "", search: asked, orderBy: order },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined, placeholderData: (last) => last },
  );
  const change = (name: string, value: string) =>
    set((next) => (value ? next.set(name, value) : next.delete(name)));
  const rows = list.data?.pages.flatMap((page) => page.documents) ?? [];
  const filtered = status !== "" || asked !== "";
  return (
    <Stack>
      {canWrite && <Upload indexName={indexName} />}
      <Panel>
        <Group>
          <TextInput aria-label="Search by path or title" placeholder="Search by path or title" leftSection={<IconSearch size={16} />} value={search} onChange={(event) => change("search", event.currentTarget.value)} />
          <Select aria-label="Status" placeholder="All states" clearable data={statuses.map((value) => ({ value, label: value.replace("_", " ") }))} value={status || null} onChange={(value) => change("status", value ?? "")} w={160} />
        </Group>
        {list.isPending && <Stack gap="xs" aria-busy><Skeleton h={26} /><Skeleton h={26} /><Skeleton h={26} /></Stack>}
        {list.isError && <ErrorView error={list.error} retry={() => void list.refetch()} />}
        {list.isSuccess && rows.length === 0 && !filtered && (
          <Empty title="No documents yet" example={canWrite ? `ragd ingest --index ${indexName} FOLDER` : undefined}>
            {canWrite ? "Drop files or a folder above, or upload from a shell:" : "Your key may not upload: somebody with the scope write has to."}
          </Empty>
        )}
        {list.isSuccess && (rows.length > 0 || filtered) && (
          <Rows indexName={indexName} rows={rows} order={order} sort={(field) => change("order", field)} more={list.hasNextPage ? () => void list.fetchNextPage() : undefined} loading={list.isFetchingNextPage} />
        )}
      </Panel>
    </Stack>
  );
}

interface RowsProps {
  indexName: string;
  rows: Document[];
  order: string;
  sort: (order: string) => void;
  more?: () => void;
  loading: boolean;
}

function Rows({ indexName, rows, order, sort, more, loading }: RowsProps) {
  const { canWrite } = useSession();
  const client = useQueryClient();
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const [deleting, setDeleting] = useState(false);
  const visible = rows.filter((row) => chosen.has(row.documentId));
  const toggle = (ids: string[], on: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) {
      if (on) next.add(id);
      else next.delete(id);
    }
    setChosen(next);
  };
  const refresh = () => client.invalidateQueries();
  async function remove() {
    const answer = await documents.deleteDocuments({ indexName, documentIds: visible.map((row) => row.documentId) });
    setChosen(new Set());
    notifyDone(`${plural(answer.deletedCount, "document")} deleted.`);
    await refresh();
  }
  async function retry() {
    try {
      const started = await retryDocuments(visible);
      notifyDone(started > 0 ? `${plural(started, "job")} started.` : "None of these has a failed job. Upload the file again.");
      setChosen(new Set());
      await refresh();
    } catch (error) {
      notifyError(error);
    }
  }
  const all = rows.length > 0 && rows.every((row) => chosen.has(row.documentId));
  const choose: Column<Document> = {
    head: <Checkbox aria-label="Choose all that are shown" checked={all} indeterminate={chosen.size > 0 && !all} onChange={(event) => toggle(rows.map((row) => row.documentId), event.currentTarget.checked)} />,
    cell: (row) => <Checkbox aria-label={`Choose ${row.uri}`} checked={chosen.has(row.documentId)} onChange={(event) => toggle([row.documentId], event.currentTarget.checked)} />,
    narrow: true,
  };
  return (
    <>
      {canWrite && chosen.size > 0 && (
        <Group>
          <span>{plural(visible.length, "document")} chosen</span>
          <Button size="xs" variant="default" leftSection={<IconRefresh size={14} />} onClick={() => void retry()}>Try again</Button>
          <Button size="xs" color="red" variant="light" leftSection={<IconTrash size={14} />} onClick={() => setDeleting(true)}>Delete</Button>
        </Group>
      )}
      <Table label="Documents" columns={canWrite ? [choose, ...columns] : columns} rows={rows} id={(row) => row.documentId} order={order} sort={sort} more={more} loading={loading} />
      <Confirm opened={deleting} onClose={() => setDeleting(false)} title={`Delete ${plural(visible.length, "document")}?`} action="Delete" onConfirm={remove}>
        Their chunks are deleted with them. This cannot be undone.
      </Confirm>
    </>
  );
}

const columns: Column<Document>[] = [
  {
    head: "Document",
    field: "title",
    cell: (row) => (
      <div dir="auto">
        <Anchor component={Link} to={`/indexes/${encodeURIComponent(row.indexName)}/documents/${row.documentId}`} size="sm" fw={600}>{row.title || row.uri}</Anchor>
        {row.title && <div><small>{row.uri}</small></div>}
        {row.error && <Tooltip label={row.error} multiline maw={480}><small tabIndex={0}>{row.error.slice(0, 160)}</small></Tooltip>}
      </div>
    ),
  },
  { head: "Status", field: "status", cell: (row) => <Status value={row.status} />, narrow: true },
  { head: "Type", field: "contentType", cell: (row) => <small>{row.contentType.split(";")[0]}</small>, narrow: true },
  { head: "Chunks", field: "chunkCount", cell: (row) => count(row.chunkCount), numeric: true, narrow: true },
  { head: "Size", field: "byteSize", cell: (row) => bytes(row.byteSize), numeric: true, narrow: true },
  { head: "Changed", field: "updateTime", cell: (row) => <Time value={row.updateTime} />, narrow: true },
];
