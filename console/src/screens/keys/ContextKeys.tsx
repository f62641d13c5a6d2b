import { Badge, Skeleton } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { ContextService, type ContextKey } from "@/gen/ragd/v1/context_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";

/** ContextKeys lists the keys of the request context that the tenant has declared. */
export function ContextKeys() {
  const list = useQuery(ContextService.method.listContextKeys, {});
  return (
    <Panel title="Declared keys of the request context">
      {list.isPending && <Skeleton h={60} />}
      {list.isError && <ErrorView error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && list.data.keys.length === 0 && (
        <Empty title="No declared keys" example="ragd context declare team --claim team">
          A declared key carries a value of the caller, such as a team, into filters and tools.
        </Empty>
      )}
      {list.isSuccess && list.data.keys.length > 0 && <Table label="Declared keys" columns={columns} rows={list.data.keys} id={(key) => key.name} />}
    </Panel>
  );
}

const columns: Column<ContextKey>[] = [
  { head: "Name", cell: (key) => <b>{key.name}</b>, narrow: true },
  { head: "Comes from", cell: (key) => key.source, narrow: true },
  { head: "Description", cell: (key) => <span dir="auto">{key.description}</span> },
  { head: "", cell: (key) => key.secret && <Badge variant="light" color="yellow" tt="none">secret</Badge>, narrow: true },
];
