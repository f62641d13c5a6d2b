import { Anchor, Button, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { IndexService, type Index } from "@/gen/ragd/v1/index_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { count } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useFlag } from "@/ui/useParameter";
import { Connect } from "./Connect";
import { CreateIndex } from "./CreateIndex";

/** Home lists the indexes of the tenant, and tells how to connect clients. */
export default function Home() {
  const session = useSession();
  const [creating, setCreating] = useFlag("create");
  const create = session.canWrite && session.tenant !== "" && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>Create an index</Button>
  );
  if (session.tenant === "") {
    return (
      <Page title="Indexes">
        <Empty title="Choose a tenant" action={<Button component={Link} to="/tenants">Show the tenants</Button>}>
          You are signed in as the operator. Choose above whose documents you want to see.
        </Empty>
      </Page>
    );
  }
  return (
    <Page title="Indexes" about="An index holds documents that are searched together." actions={create}>
      <Indexes action={create} />
      <Panel title="Connect a client"><Connect /></Panel>
      <CreateIndex opened={creating} onClose={() => setCreating(false)} />
    </Page>
  );
}

const columns: Column<Index>[] = [
  { head: "Name", cell: (index) => <Anchor component={Link} to={`/indexes/${encodeURIComponent(index.indexName)}`} fw={600}>{index.indexName}</Anchor> },
  { head: "Status", cell: (index) => <Status value={index.status} />, narrow: true },
  { head: "Documents", cell: (index) => count(index.documentCount), numeric: true, narrow: true },
  { head: "In work", cell: (index) => (index.pendingDocumentCount > 0 ? count(index.pendingDocumentCount) : ""), numeric: true, narrow: true },
  { head: "Failed", cell: (index) => (index.failedDocumentCount > 0 ? <Text span c="red" size="sm">{count(index.failedDocumentCount)}</Text> : ""), numeric: true, narrow: true },
  { head: "Chunks", cell: (index) => count(index.count), numeric: true, narrow: true },
  { head: "Embedding model", cell: (index) => (index.embeddingModel ? `${index.embeddingModel}, ${index.dimension} values` : `ready-made vectors, ${index.dimension} values`) },
  { head: "Changed", cell: (index) => <Time value={index.updateTime} />, narrow: true },
];

function Indexes({ action }: { action: React.ReactNode }) {
  const [pageSize, setPageSize] = useState(100);
  const indexes = useQuery(IndexService.method.listIndexes, { pageSize }, { placeholderData: (last) => last });
  if (indexes.isPending) return <Stack gap="xs" aria-busy><Skeleton h={28} /><Skeleton h={28} /><Skeleton h={28} /></Stack>;
  if (indexes.isError) return <ErrorView error={indexes.error} retry={() => void indexes.refetch()} />;
  const { indexes: rows, nextPageToken } = indexes.data;
  if (rows.length === 0) {
    return <Empty title="No index yet" action={action}>Create one and drop files on it, or upload with <code>ragd ingest --index docs FOLDER</code>.</Empty>;
  }
  const more = nextPageToken && pageSize < 1000 ? () => setPageSize(1000) : undefined;
  return <Panel><Table label="Indexes" columns={columns} rows={rows} id={(index) => index.indexName} more={more} loading={indexes.isFetching} /></Panel>;
}
