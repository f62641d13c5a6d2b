import { Anchor, Button, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link, useLocation } from "react-router";
import { whyNotAll } from "@/app/rights";
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
import { Health } from "./Health";
import classes from "./Home.module.css";
import { Questions } from "./Questions";
import { Quotas } from "./Quotas";
import { Steps } from "./Steps";
import { useSteps } from "./useSteps";

/** Home is where a visitor starts: the first steps, the indexes of the tenant, what has failed, and how clients are connected. */
export default function Home() {
  const session = useSession();
  const [creating, setCreating] = useFlag("create");
  const create = session.canWrite && session.tenant !== "" && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>Create an index</Button>
  );
  if (session.tenant === "") {
    return (
      <Page title="Home">
        <Empty title="Choose a tenant" action={<Button component={Link} to="/tenants">Show the tenants</Button>}>
          You are signed in as the operator. Choose above whose documents you want to see.
        </Empty>
      </Page>
    );
  }
  return <Start key={session.tenant} create={create} creating={creating} close={() => setCreating(false)} />;
}

function Start({ create, creating, close }: { create: ReactNode; creating: boolean; close: () => void }) {
  const [pageSize, setPageSize] = useState(100);
  const indexes = useQuery(IndexService.method.listIndexes, { pageSize }, { placeholderData: (last) => last });
  const rows = indexes.data?.indexes ?? [];
  const { steps, hide } = useSteps(rows);
  const { hash } = useLocation();
  const connect = useRef<HTMLDivElement>(null);
  const ready = indexes.isSuccess && steps !== undefined;
  useEffect(() => {
    if (ready && hash === "#connect") connect.current?.scrollIntoView();
  }, [ready, hash]);
  const knows = whyNotAll(useSession(), "") === "";
  const more = indexes.data?.nextPageToken && pageSize < 1000 ? () => setPageSize(1000) : undefined;
  return (
    <Page title="Home" actions={create}>
      {indexes.isError && <ErrorView error={indexes.error} retry={() => void indexes.refetch()} />}
      {!indexes.isError && !ready && <Stack aria-busy><Skeleton h={150} /><Skeleton h={220} /></Stack>}
      {ready && (
        <>
          <Quotas />
          {steps.length > 0 && <Steps steps={steps} hide={hide} />}
          {rows.length === 0 ? <NoIndex action={create} /> : (
            <Panel title="Indexes"><Table label="Indexes" columns={columns} rows={rows} id={(index) => index.indexName} more={more} loading={indexes.isFetching} /></Panel>
          )}
          {rows.length > 0 && <Health indexes={rows} />}
          {rows.length > 0 && knows && <Questions indexes={rows} />}
          <div ref={connect} className={classes.below}><Panel title="Connect a client"><Connect /></Panel></div>
        </>
      )}
      <CreateIndex opened={creating} onClose={close} />
    </Page>
  );
}

function NoIndex({ action }: { action: ReactNode }) {
  return <Empty title="No index yet" action={action} example="ragd ingest --index docs FOLDER">An index holds documents that are searched together. Create one and drop files on it, or upload a folder from a shell, which makes it:</Empty>;
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
