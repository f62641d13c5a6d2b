import { SegmentedControl, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { ConnectorService, type ConnectorItem } from "@/gen/ragd/v1/connector_pb";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useParameter } from "@/ui/useParameter";

const columns: Column<ConnectorItem>[] = [
  { head: "Item", cell: (item) => <Text size="sm" dir="auto">{item.id}</Text> },
  { head: "State", cell: (item) => <Status value={item.status} />, narrow: true },
  { head: "Why", cell: (item) => <Text size="sm" dir="auto">{item.reason}</Text> },
  { head: "Seen", cell: (item) => <Time value={item.updateTime} />, narrow: true },
];

const states = [{ value: "", label: "All" }, { value: "stored", label: "Stored" }, { value: "skipped", label: "Skipped" }, { value: "failed", label: "Failed" }];

/** Items lists what a connector knows of each item of its source: those that failed say why. */
export function Items({ connectorName, running }: { connectorName: string; running: boolean }) {
  const [status, setStatus] = useParameter("status");
  const items = useInfiniteQuery(
    ConnectorService.method.listConnectorItems, { connectorName, status, pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined, refetchInterval: running ? 3000 : false },
  );
  return (
    <Panel>
      <div><SegmentedControl size="xs" aria-label="State of the items" data={states} value={status} onChange={setStatus} /></div>
      <Loading query={items}>
        {({ pages }) => <Table label="Items" columns={columns} rows={pages.flatMap((page) => page.items)} id={(item) => item.id} more={items.hasNextPage ? () => void items.fetchNextPage() : undefined} loading={items.isFetchingNextPage} />}
      </Loading>
    </Panel>
  );
}
