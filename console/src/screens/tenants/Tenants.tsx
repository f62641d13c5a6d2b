import { Anchor, Button, Group, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { IconPlus, IconSearch, IconUpload } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { useAllPages } from "@/app/pages";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { TenantService, type Tenant } from "@/gen/ragd/v1/tenant_pb";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { notifyDone } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useFlag } from "@/ui/useParameter";
import { CreateTenant } from "./CreateTenant";
import { ImportTenant } from "./ImportTenant";
import { OperatorOnly } from "./OperatorOnly";
import { quotas, split } from "./settings";

/** Tenants lists the tenants of the service for its operator. */
export default function Tenants() {
  const session = useSession();
  const [creating, setCreating] = useFlag("create");
  const [importing, setImporting] = useFlag("import");
  if (!session.operator) return <OperatorOnly />;
  const create = <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>Create a tenant</Button>;
  return (
    <Page title="Tenants" about="A tenant has its own indexes, keys and limits, and sees nothing of others." actions={<><Button variant="default" leftSection={<IconUpload size={16} />} onClick={() => setImporting(true)}>Import an archive</Button>{create}</>}>
      <List create={create} />
      <Deleted />
      <ImportTenant opened={importing} onClose={() => setImporting(false)} />
      <CreateTenant opened={creating} onClose={() => setCreating(false)} />
    </Page>
  );
}

/** step is how many tenants are shown at first, and added by "Show more". */
const step = 100;

function List({ create }: { create: React.ReactNode }) {
  const [parameters, setParameters] = useSearchParams();
  const search = parameters.get("search") ?? "";
  const [shown, setShown] = useState(step);
  const tenants = useInfiniteQuery(TenantService.method.listTenants, { pageSize: 1000, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  const { hasNextPage, isFetching, fetchNextPage } = tenants;
  useAllPages(tenants, search !== ""); // the search looks at all tenants
  if (tenants.isPending) return <Stack gap="xs" aria-busy><Skeleton h={28} /><Skeleton h={28} /><Skeleton h={28} /></Stack>;
  if (tenants.isError) return <ErrorView error={tenants.error} retry={() => void tenants.refetch()} />;

  const all = tenants.data.pages.flatMap((page) => page.tenants);
  if (all.length === 0) return <Empty title="No tenant yet" action={create}>Everything in the service belongs to a tenant. Create the first one, then a key for it.</Empty>;
  const wanted = search.trim().toLowerCase();
  const found = all.filter((tenant) => `${tenant.tenantId}\n${tenant.displayName}`.toLowerCase().includes(wanted));
  const more = found.length > shown || (hasNextPage && !search) ? () => {
    setShown(shown + step);
    if (found.length < shown + step && hasNextPage) void fetchNextPage();
  } : undefined;
  return (
    <Panel>
      <TextInput
        aria-label="Search tenants" placeholder="Search by id or display name" leftSection={<IconSearch size={16} />} maw="24rem" value={search}
        onChange={(event) => setParameters(event.currentTarget.value ? { search: event.currentTarget.value } : {}, { replace: true })}
      />
      <Text size="sm" c="dimmed" aria-live="polite">{search ? `${plural(found.length, "tenant")} found` : `${plural(all.length, "tenant")}${hasNextPage ? ", and more" : ""}`}</Text>
      <Rows tenants={found.slice(0, shown)} more={more} loading={isFetching} />
    </Panel>
  );
}

function Rows({ tenants, more, loading }: { tenants: Tenant[]; more?: () => void; loading: boolean }) {
  const session = useSession();
  const navigate = useNavigate();
  function work(tenantId: string) {
    session.choose(tenantId);
    void navigate("/");
  }
  const columns: Column<Tenant>[] = [
    { head: "Id", cell: (tenant) => <Anchor component={Link} to={`/tenants/${encodeURIComponent(tenant.tenantId)}`} fw={600} size="sm">{tenant.tenantId}</Anchor> },
    { head: "Display name", cell: (tenant) => <span dir="auto">{tenant.displayName}</span> },
    { head: "Limits of its own", cell: (tenant) => <Limits tenant={tenant} /> },
    { head: "State", cell: (tenant) => tenant.state, narrow: true },
    { head: "Database", cell: (tenant) => tenant.database, narrow: true },
    { head: "Created", cell: (tenant) => <Time value={tenant.createTime} />, narrow: true },
    {
      head: "Work on it", narrow: true,
      cell: (tenant) => (tenant.tenantId === session.tenant
        ? <Text size="sm" c="dimmed">chosen</Text>
        : <Button size="compact-sm" variant="default" onClick={() => work(tenant.tenantId)} aria-label={`Choose ${tenant.tenantId}`}>Choose</Button>),
    },
  ];
  return <Table label="Tenants" columns={columns} rows={tenants} id={(tenant) => tenant.tenantId} more={more} loading={loading} />;
}

/** Deleted lists the deleted tenants that can be restored, if there are any. */
function Deleted() {
  const tenants = useInfiniteQuery(TenantService.method.listTenants, { pageSize: step, pageToken: "", state: "deleted" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  const restore = useMutation(TenantService.method.restoreTenant, {
    onSuccess: (tenant) => {
      void refresh(TenantService);
      notifyDone(`Restored the tenant ${tenant.tenantId}.`);
    },
  });
  const erase = useMutation(TenantService.method.deleteTenant);
  const [erasing, setErasing] = useState("");
  if (tenants.isError) return <ErrorView error={tenants.error} retry={() => void tenants.refetch()} />;
  const rows = tenants.data?.pages.flatMap((page) => page.tenants) ?? [];
  if (rows.length === 0) return null;
  const columns: Column<Tenant>[] = [
    { head: "Id", cell: (tenant) => tenant.tenantId },
    { head: "Display name", cell: (tenant) => <span dir="auto">{tenant.displayName}</span> },
    { head: "Deleted", cell: (tenant) => <Time value={tenant.deleteTime} />, narrow: true },
    { head: "Is erased", cell: (tenant) => <Time value={tenant.eraseTime} />, narrow: true },
    {
      head: "", narrow: true,
      cell: (tenant) => (
        <Group gap="xs" wrap="nowrap">
          <Button size="compact-sm" variant="default" loading={restore.isPending && restore.variables?.tenantId === tenant.tenantId} onClick={() => restore.mutate({ tenantId: tenant.tenantId })} aria-label={`Restore ${tenant.tenantId}`}>Restore</Button>
          <Button size="compact-sm" color="red" variant="outline" onClick={() => setErasing(tenant.tenantId)} aria-label={`Erase ${tenant.tenantId}`}>Erase</Button>
        </Group>
      ),
    },
  ];
  return (
    <Panel title="Deleted tenants">
      <Text size="sm">Nobody uses them. They can be restored with their documents and keys until they are erased.</Text>
      {restore.isError && <ErrorView error={restore.error} />}
      <Table label="Deleted tenants" columns={columns} rows={rows} id={(tenant) => tenant.tenantId} more={tenants.hasNextPage ? () => void tenants.fetchNextPage() : undefined} loading={tenants.isFetching} />
      <Confirm opened={erasing !== ""} onClose={() => setErasing("")} title={`Erase the tenant ${erasing}?`} action="Erase" type={erasing} onConfirm={() => erase.mutateAsync({ tenantId: erasing, erase: true }).then(() => refresh(TenantService))}>
        All its documents, indexes, keys and jobs are erased. This cannot be undone.
      </Confirm>
    </Panel>
  );
}

function Limits({ tenant }: { tenant: Tenant }) {
  const { limits } = split(tenant.settings);
  const own = quotas.filter(({ key }) => limits[key] !== "");
  if (own.length === 0) return <Text span size="sm" c="dimmed">standard</Text>;
  return own.map(({ key, label }) => `${label}: ${limits[key]}`).join(", ");
}
