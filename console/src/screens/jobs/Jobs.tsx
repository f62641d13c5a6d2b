import { Anchor, Button, Group, Select, Skeleton, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { ended } from "@/app/upload";
import { DocumentService, type Job } from "@/gen/ragd/v1/document_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { notifyError } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

const documents = createClient(DocumentService, transport);

/** Jobs lists the asynchronous work of the tenant. */
export default function Jobs() {
  const { canWrite } = useSession();
  const [params, setParams] = useSearchParams();
  const client = useQueryClient();
  const status = params.get("status") ?? "";
  const jobs = useInfiniteQuery(
    DocumentService.method.listJobs,
    { status, pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  const act = async (call: Promise<unknown>) => {
    await call.catch(notifyError);
    await client.invalidateQueries();
  };
  const actions: Column<Job> = {
    head: "",
    narrow: true,
    cell: (job) => (
      <Group gap={4} wrap="nowrap">
        {!ended(job) && <Button size="compact-xs" variant="default" onClick={() => void act(documents.cancelJob({ jobId: job.jobId }))}>Cancel</Button>}
        {(job.status === "failed" || job.status === "cancelled") && <Button size="compact-xs" variant="default" onClick={() => void act(documents.retryJob({ jobId: job.jobId }))}>Try again</Button>}
      </Group>
    ),
  };
  const rows = jobs.data?.pages.flatMap((page) => page.jobs) ?? [];
  return (
    <Page title="Jobs" about="Work that goes on after a call: uploads, builds, evaluations. Newest first.">
      <Panel>
        <Group>
          <Select aria-label="Status" placeholder="All states" clearable data={["queued", "running", "succeeded", "failed", "cancelled"]} value={status || null} onChange={(value) => setParams(value ? { status: value } : {})} w={170} />
        </Group>
        {jobs.isPending && <Skeleton h={80} />}
        {jobs.isError && <ErrorView error={jobs.error} retry={() => void jobs.refetch()} />}
        {jobs.isSuccess && rows.length === 0 && <Empty title={status ? `No ${status} jobs` : "No jobs yet"}>An upload starts one.</Empty>}
        {rows.length > 0 && <Table label="Jobs" columns={canWrite ? [...columns, actions] : columns} rows={rows} id={(job) => job.jobId} more={jobs.hasNextPage ? () => void jobs.fetchNextPage() : undefined} loading={jobs.isFetchingNextPage} />}
      </Panel>
    </Page>
  );
}

const columns: Column<Job>[] = [
  { head: "Job", cell: (job) => job.kind, narrow: true },
  { head: "Status", cell: (job) => <Status value={job.status} />, narrow: true },
  { head: "About", cell: (job) => <About job={job} /> },
  { head: "Done", cell: (job) => (job.progress?.total ? `${job.progress.done} of ${job.progress.total} ${job.progress.unit}` : ""), narrow: true },
  { head: "Attempts", cell: (job) => (job.attempts > 1 ? job.attempts : ""), numeric: true, narrow: true },
  { head: "Changed", cell: (job) => <Time value={job.updateTime} />, narrow: true },
];

function About({ job }: { job: Job }) {
  const index = `/indexes/${encodeURIComponent(job.indexName)}`;
  return (
    <div>
      {job.documentId && <Anchor component={Link} size="sm" to={`${index}/documents/${job.documentId}`}>a document in {job.indexName}</Anchor>}
      {!job.documentId && job.indexName && <Anchor component={Link} size="sm" to={index}>{job.indexName}</Anchor>}
      {job.error && <Text size="xs" c="red" dir="auto">{job.error}</Text>}
    </div>
  );
}
