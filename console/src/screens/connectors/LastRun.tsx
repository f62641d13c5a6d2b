import { Anchor, Stack, Text } from "@mantine/core";
import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { Link } from "react-router";
import type { Connector, ConnectorRun } from "@/gen/ragd/v1/connector_pb";
import { Facts } from "@/ui/Facts";
import { bytes, count, millis } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

const columns: Column<ConnectorRun>[] = [
  { head: "Began", cell: (run) => <Time value={run.startTime} />, narrow: true },
  { head: "State", cell: (run) => <Status value={run.status} />, narrow: true },
  { head: "Took", cell: (run) => took(run), narrow: true, numeric: true },
  { head: "Seen", cell: (run) => count(run.counts?.seen ?? 0), narrow: true, numeric: true },
  { head: "Added", cell: (run) => count(run.counts?.added ?? 0), narrow: true, numeric: true },
  { head: "Updated", cell: (run) => count(run.counts?.updated ?? 0), narrow: true, numeric: true },
  { head: "Deleted", cell: (run) => count(run.counts?.deleted ?? 0), narrow: true, numeric: true },
  { head: "Failed", cell: (run) => count(run.counts?.failed ?? 0), narrow: true, numeric: true },
  { head: "Error", cell: (run) => <Text size="sm" dir="auto">{run.error}</Text> },
];

/** took says how long a run has taken. */
function took({ startTime, endTime }: { startTime?: Timestamp; endTime?: Timestamp }): string {
  return startTime && endTime ? millis(timestampDate(endTime).getTime() - timestampDate(startTime).getTime()) : "";
}

/** LastRun shows the last run of a connector, those before it, and when the next one is due. */
export function LastRun({ connector }: { connector: Connector }) {
  const { counts, startTime } = connector;
  const here = `/connectors/${encodeURIComponent(connector.connectorName)}`;
  return (
    <Stack>
      <Panel title={connector.status === "running" ? "This run" : "Last run"}>
        {connector.status === "" ? <Text size="sm" c="dimmed">It has not run yet.</Text> : (
          <Facts
            facts={[
              ["State", <Status value={connector.status} />],
              ["Began", <Time value={startTime} />],
              ["Took", took(connector)],
              ["Items seen", count(counts?.seen ?? 0)],
              ["Added", count(counts?.added ?? 0)],
              ["Updated", count(counts?.updated ?? 0)],
              ["Unchanged", count(counts?.unchanged ?? 0)],
              ["Deleted", count(counts?.deleted ?? 0)],
              ["Skipped", count(counts?.skipped ?? 0)],
              ["Failed", counts?.failed ? <Anchor component={Link} inherit underline="always" to={`${here}?tab=items&status=failed`}>{count(counts.failed)}</Anchor> : "0"],
              ["Requests", counts?.requests ? `${count(counts.requests)}, ${bytes(counts.bytes)}` : ""],
              ["Error", connector.error],
            ]}
          />
        )}
      </Panel>
      {connector.runs.length > 0 && (
        <Panel title="History">
          <Text size="sm" c="dimmed">The last 20 runs that have ended, newest first.</Text>
          <Table label="Runs" columns={columns} rows={connector.runs} id={(run) => String(run.startTime?.seconds) + String(run.startTime?.nanos)} />
        </Panel>
      )}
      <Panel title="What is set">
        <Facts
          facts={[
            ["Next run", connector.paused ? "none: it is paused" : connector.nextRunTime ? <Time value={connector.nextRunTime} /> : "when it is asked"],
            ["Schedule", connector.schedule || "none"],
            ["Index", <Anchor component={Link} inherit underline="always" to={`/indexes/${encodeURIComponent(connector.indexName)}`}>{connector.indexName}</Anchor>],
            ["Namespace", connector.namespace === "default" ? "" : connector.namespace],
            ["Most items", count(connector.maxItems)],
            ["Sign-in", connector.authorization],
            ["Changed", <Time value={connector.updateTime} />],
          ]}
        />
      </Panel>
    </Stack>
  );
}
