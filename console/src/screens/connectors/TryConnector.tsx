import { Button, Text } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { IconTestPipe } from "@tabler/icons-react";
import { ConnectorService, type ConnectorItem } from "@/gen/ragd/v1/connector_pb";
import { ErrorView } from "@/ui/ErrorView";
import { bytes, plural } from "@/ui/format";
import { Json } from "@/ui/Json";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";

const columns: Column<ConnectorItem>[] = [
  {
    head: "Item",
    cell: (item) => (
      <div dir="auto">
        <Text size="sm" fw={600}>{item.title || item.id}</Text>
        {item.title && <Text size="xs" c="dimmed">{item.id}</Text>}
        {item.metadata && Object.keys(item.metadata).length > 0 && <details><summary><small>Metadata</small></summary><Json label="Metadata" value={item.metadata} /></details>}
      </div>
    ),
  },
  { head: "State", cell: (item) => <Status value={item.status} />, narrow: true },
  { head: "Why", cell: (item) => <Text size="sm" dir="auto">{item.reason}</Text> },
  { head: "Type", cell: (item) => item.contentType, narrow: true },
  { head: "Size", cell: (item) => (item.byteSize > 0 ? bytes(item.byteSize) : ""), numeric: true, narrow: true },
];

/** TryConnector reads the first items of a connector's source and stores nothing. */
export function TryConnector({ connectorName }: { connectorName: string }) {
  const test = useMutation(ConnectorService.method.testConnector);
  return (
    <Panel>
      <Text size="sm">Reads the first 20 items of the source as a run does, and stores nothing.</Text>
      <div><Button leftSection={<IconTestPipe size={16} />} loading={test.isPending} onClick={() => test.mutate({ connectorName })}>Test the connector</Button></div>
      {test.isError && <ErrorView error={test.error} />}
      {test.data && (
        <>
          <Text size="sm" role="status">{test.data.complete ? `These are all items of the source: ${test.data.items.length}.` : `The first ${plural(test.data.items.length, "item")}; the source has more.`}</Text>
          <Table label="Items of the test" columns={columns} rows={test.data.items} id={(item) => item.id} />
        </>
      )}
    </Panel>
  );
}
