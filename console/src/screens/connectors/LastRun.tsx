import { Anchor, Stack, Text } from "@mantine/core";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Link } from "react-router";
import type { Connector } from "@/gen/ragd/v1/connector_pb";
import { Facts } from "@/ui/Facts";
import { bytes, count, millis } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";

/** LastRun shows the last run of a connector, and when the next one is due. */
export function LastRun({ connector }: { connector: Connector }) {
  const { counts, startTime, endTime } = connector;
  const here = `/connectors/${encodeURIComponent(connector.connectorName)}`;
  const took = startTime && endTime ? millis(timestampDate(endTime).getTime() - timestampDate(startTime).getTime()) : "";
  return (
    <Stack>
      <Panel title={connector.status === "running" ? "This run" : "Last run"}>
        {connector.status === "" ? <Text size="sm" c="dimmed">It has not run yet.</Text> : (
          <Facts
            facts={[
              ["State", <Status value={connector.status} />],
              ["Began", <Time value={startTime} />],
              ["Took", took],
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
