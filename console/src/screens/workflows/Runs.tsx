import { Anchor, Select, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import { WorkflowService, type WorkflowRun } from "@/gen/ragd/v1/workflow_pb";
import { Empty } from "@/ui/Empty";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useParameter } from "@/ui/useParameter";

/** Runs lists the runs of a workflow. */
export function Runs({ workflowName }: { workflowName: string }) {
  const [status, setStatus] = useParameter("status");
  const runs = useInfiniteQuery(WorkflowService.method.listRuns, { workflowName, status, pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined });
  return (
    <Panel>
      <Select aria-label="Status" placeholder="All states" clearable data={["queued", "running", "waiting", "succeeded", "failed", "cancelled"]} value={status || null} onChange={(next) => setStatus(next ?? "")} w={170} />
      <Loading query={runs}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.runs);
          if (rows.length === 0) return <Empty title={status ? `No ${status} runs` : "No runs yet"}>A run is kept with the input and output of every step.</Empty>;
          return <Table label="Runs" columns={columns} rows={rows} id={(run) => run.runId} more={runs.hasNextPage ? () => void runs.fetchNextPage() : undefined} loading={runs.isFetchingNextPage} />;
        }}
      </Loading>
    </Panel>
  );
}

const columns: Column<WorkflowRun>[] = [
  { head: "Run", cell: (run) => <Anchor component={Link} size="sm" to={`/workflows/${encodeURIComponent(run.workflowName)}/runs/${run.runId}`}>{run.runId}</Anchor> },
  { head: "Status", cell: (run) => <Status value={run.status} />, narrow: true },
  { head: "Version", cell: (run) => run.version, numeric: true, narrow: true },
  { head: "Error", cell: (run) => <Text size="xs" dir="auto" lineClamp={2}>{run.error}</Text> },
  { head: "Started", cell: (run) => <Time value={run.createTime} />, narrow: true },
];
