import { Skeleton } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IssuerService, type Issuer } from "@/gen/ragd/v1/issuer_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";

/** Issuers lists the authorization servers whose access tokens the tenant takes. */
export function Issuers() {
  const list = useQuery(IssuerService.method.listIssuers, {});
  return (
    <Panel title="Authorization servers">
      {list.isPending && <Skeleton h={60} />}
      {list.isError && <ErrorView error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && list.data.issuers.length === 0 && (
        <Empty title="No authorization server of your own" example="ragd issuer create login https://login.example.com">
          People and programs can then use their access tokens instead of keys.
        </Empty>
      )}
      {list.isSuccess && list.data.issuers.length > 0 && <Table label="Authorization servers" columns={columns} rows={list.data.issuers} id={(issuer) => issuer.issuerName} />}
    </Panel>
  );
}

const columns: Column<Issuer>[] = [
  { head: "Name", cell: (issuer) => <b>{issuer.issuerName}</b>, narrow: true },
  { head: "Address", cell: (issuer) => issuer.url },
  { head: "Audiences", cell: (issuer) => issuer.audiences.join(", ") },
  { head: "Scopes", cell: (issuer) => issuer.scopes.join(", "), narrow: true },
];
