import { Button, Checkbox, Skeleton, Stack, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useMutation, useQuery as useRpc } from "@connectrpc/connect-query";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { queries } from "@/app/queries";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import { Confirm } from "@/ui/Confirm";
import { ErrorView } from "@/ui/ErrorView";
import { count, plural } from "@/ui/format";
import { notifyDone } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useRemoval } from "@/ui/useRemoval";
import { Export } from "./Export";
import { Home } from "./Home";
import { OperatorOnly } from "./OperatorOnly";
import { TenantForm } from "./TenantForm";
import { VectorStores } from "./VectorStores";

/** TenantScreen shows a tenant: its indexes, limits, settings, and how to delete it. */
export default function TenantScreen() {
  const session = useSession();
  const { tenant: tenantId = "" } = useParams();
  if (!session.operator) return <OperatorOnly />;
  return <Details key={tenantId} tenantId={tenantId} />;
}

function Details({ tenantId }: { tenantId: string }) {
  const session = useSession();
  const navigate = useNavigate();
  const tenant = useRpc(TenantService.method.getTenant, { tenantId });
  const work = () => {
    session.choose(tenantId);
    void navigate("/");
  };
  const actions = tenant.isSuccess && <Button onClick={work}>Work on this tenant</Button>;
  return (
    <Page title={tenantId} crumbs={[{ to: "/tenants", label: "Tenants" }]} actions={actions} about={tenant.data && <>{tenant.data.displayName && <span dir="auto">{tenant.data.displayName}, </span>}created <Time value={tenant.data.createTime} />{tenant.data.state !== "active" && <>, {tenant.data.state} since <Time value={tenant.data.asleepTime} /></>}</>}>
      {tenant.isPending && <Stack gap="xs" aria-busy><Skeleton h={120} /><Skeleton h={200} /></Stack>}
      {tenant.isError && <ErrorView error={tenant.error} retry={() => void tenant.refetch()} />}
      {tenant.isSuccess && (
        <>
          <Panel title="Indexes"><Indexes tenantId={tenantId} /></Panel>
          <Panel title="Name, limits and settings"><TenantForm tenant={tenant.data} /></Panel>
          <Panel title="Database"><Home tenant={tenant.data} /></Panel>
          <Panel title="Names of the vector store"><VectorStores tenantId={tenantId} /></Panel>
          <Panel title="Archive"><Export tenantId={tenantId} /></Panel>
          <Repair tenantId={tenantId} />
          <Delete tenantId={tenantId} />
        </>
      )}
    </Page>
  );
}

function Indexes({ tenantId }: { tenantId: string }) {
  const indexes = useQuery({
    queryKey: ["tenant-indexes", tenantId],
    queryFn: ({ signal }) => createClient(IndexService, transport).listIndexes({ pageSize: 1000 }, { signal, headers: { "Ragd-Tenant": tenantId } }),
  });
  if (indexes.isPending) return <Skeleton h={60} />;
  if (indexes.isError) return <ErrorView error={indexes.error} retry={() => void indexes.refetch()} />;
  const rows = indexes.data.indexes;
  if (rows.length === 0) return <Text size="sm" c="dimmed">The tenant has no index yet.</Text>;
  const documents = rows.reduce((sum, index) => sum + index.documentCount, 0);
  const failed = rows.reduce((sum, index) => sum + index.failedDocumentCount, 0);
  return (
    <>
      <Text size="sm">{plural(rows.length, "index", "indexes")} with {plural(documents, "document")}{failed > 0 && `, ${count(failed)} more failed`}.</Text>
      <Table
        label="Indexes" rows={rows} id={(index) => index.indexName}
        columns={[
          { head: "Name", cell: (index) => index.indexName },
          { head: "Documents", cell: (index) => count(index.documentCount), numeric: true, narrow: true },
          { head: "Chunks", cell: (index) => count(index.count), numeric: true, narrow: true },
          { head: "Changed", cell: (index) => <Time value={index.updateTime} />, narrow: true },
        ]}
      />
    </>
  );
}

function Repair({ tenantId }: { tenantId: string }) {
  const repair = useMutation(TenantService.method.repairTenant, {
    onSuccess: ({ problem }) => {
      notifyDone(problem ? `Repaired the tenant ${tenantId}: ${problem}.` : `The tenant ${tenantId} can be served: nothing to repair.`);
      void queries.invalidateQueries();
    },
  });
  return (
    <Panel title="Repair">
      <Text size="sm">Creates the tenant's database role again, and gives it its schema, if it cannot be served. That is needed after a backup was restored into a running service.</Text>
      {repair.isError && <ErrorView error={repair.error} />}
      <div><Button variant="default" loading={repair.isPending} onClick={() => repair.mutate({ tenantId })}>Repair the tenant</Button></div>
    </Panel>
  );
}

function Delete({ tenantId }: { tenantId: string }) {
  const session = useSession();
  const removal = useRemoval();
  const [asking, setAsking] = useState(false);
  const [erase, setErase] = useState(false);
  const remove = useMutation(TenantService.method.deleteTenant);
  async function confirm() {
    let kept = false;
    await removal(async () => {
      const done = await remove.mutateAsync({ tenantId, erase });
      kept = done.eraseTime !== undefined;
    }, "/tenants");
    notifyDone(kept ? `Deleted the tenant ${tenantId}. It can be restored.` : `Erased the tenant ${tenantId}.`);
    if (session.tenant === tenantId) session.choose("");
  }
  return (
    <Panel title="Delete">
      <Text size="sm">Deletes the tenant with all its documents, indexes, keys and jobs. It can be restored as long as its settings, its plan or the service say; then it is erased.</Text>
      <div><Button color="red" variant="outline" onClick={() => setAsking(true)}>Delete the tenant</Button></div>
      <Confirm opened={asking} onClose={() => setAsking(false)} title={`Delete the tenant ${tenantId}?`} action="Delete" type={tenantId} onConfirm={confirm}>
        <Stack gap="xs">
          <span>Its keys are refused at once, with all its documents, indexes and jobs.</span>
          <Checkbox size="sm" label="Erase it at once" description="This cannot be undone." checked={erase} onChange={(event) => setErase(event.currentTarget.checked)} />
        </Stack>
      </Confirm>
    </Panel>
  );
}
