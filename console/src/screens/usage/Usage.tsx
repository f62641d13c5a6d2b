import { Button, Group, Select, Skeleton } from "@mantine/core";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { IconDownload } from "@tabler/icons-react";
import { useMemo } from "react";
import { useAllPages } from "@/app/pages";
import { whyNotAll } from "@/app/rights";
import { useSession } from "@/app/session";
import { UsageService, type Usage as Row } from "@/gen/ragd/v1/usage_pb";
import { saveCSV } from "@/ui/csv";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { bytes, count } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { useParameter } from "@/ui/useParameter";
import classes from "./Usage.module.css";

/** Usage shows what the tenant used, by time; for an operator without a tenant, what all used. */
export default function Usage() {
  const session = useSession();
  const why = whyNotAll(session, "Usage");
  if (why) return <Page title="Usage"><Empty title="Your key does not see the usage">{why}</Empty></Page>;
  return <Rows key={session.tenant} all={session.tenant === ""} />;
}

const hour = 3_600_000;

/** ranges are the times to choose from: their hours, and the interval of a row. */
const ranges: Record<string, { label: string; hours: number; interval: string }> = {
  day: { label: "Last 24 hours", hours: 24, interval: "hour" },
  week: { label: "Last 7 days", hours: 7 * 24, interval: "day" },
  month: { label: "Last 30 days", hours: 30 * 24, interval: "day" },
  year: { label: "Last 12 months", hours: 365 * 24, interval: "month" },
};

/** groupings are what has rows of its own, as the API's groupBy. */
const groupings: Record<string, { label: string; by: string[] }> = {
  stage: { label: "By stage", by: ["stage"] },
  index: { label: "By index and stage", by: ["index", "stage"] },
  model: { label: "By stage and model", by: ["stage", "model"] },
};

function Rows({ all }: { all: boolean }) {
  const [range, setRange] = useParameter("range", "month");
  const [group, setGroup] = useParameter("by", "stage");
  const { hours, interval } = ranges[range] ?? ranges.month!;
  const { by } = groupings[group] ?? groupings.stage!;
  const start = useMemo(() => timestampFromDate(new Date(Math.floor(Date.now() / hour) * hour - (hours - 1) * hour)), [hours]);
  const usage = useInfiniteQuery(
    UsageService.method.listUsage,
    { startTime: start, interval, groupBy: by, pageSize: 1000, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  useAllPages(usage);
  const rows = (usage.data?.pages.flatMap((page) => page.rows) ?? []).toReversed();
  const most = Math.max(1, ...rows.map((row) => row.calls));
  const columns: Column<Row>[] = [
    { head: "From (UTC)", cell: (row) => from(row, interval), narrow: true },
    ...(all ? [{ head: "Tenant", cell: (row: Row) => row.tenantId, narrow: true }] : []),
    ...(by.includes("index") ? [{ head: "Index", cell: (row: Row) => row.indexName, narrow: true }] : []),
    { head: "Stage", cell: (row) => row.stage, narrow: true },
    ...(by.includes("model") ? [{ head: "Model", cell: (row: Row) => row.model, narrow: true }] : []),
    { head: "", cell: (row) => <progress className={classes.bar} value={row.calls} max={most} aria-hidden /> },
    { head: "Calls", cell: (row) => count(row.calls), numeric: true, narrow: true },
    { head: "Documents", cell: (row) => (row.documents ? count(row.documents) : ""), numeric: true, narrow: true },
    { head: "Chunks", cell: (row) => (row.chunks ? count(row.chunks) : ""), numeric: true, narrow: true },
    { head: "Size", cell: (row) => (row.bytes ? bytes(row.bytes) : ""), numeric: true, narrow: true },
    { head: "Tokens read", cell: (row) => (row.inputTokens ? count(row.inputTokens) : ""), numeric: true, narrow: true },
    { head: "Tokens written", cell: (row) => (row.outputTokens ? count(row.outputTokens) : ""), numeric: true, narrow: true },
  ];
  const save = (
    <Button variant="default" leftSection={<IconDownload size={16} />} disabled={rows.length === 0 || usage.hasNextPage} onClick={() => saveCSV("usage.csv", table(rows))}>Save as CSV</Button>
  );
  return (
    <Page title="Usage" about={all ? "What all tenants used." : "What the tenant used: documents, searches, and tokens of models."} actions={save}>
      <Panel>
        <Group>
          <Select aria-label="Time" data={options(ranges)} value={range} onChange={(value) => setRange(value ?? "month")} allowDeselect={false} w={170} />
          <Select aria-label="Rows" data={options(groupings)} value={group} onChange={(value) => setGroup(value ?? "stage")} allowDeselect={false} w={190} />
        </Group>
        {usage.isPending && <Skeleton h={80} />}
        {usage.isError && <ErrorView error={usage.error} retry={() => void usage.refetch()} />}
        {usage.isSuccess && rows.length === 0 && <Empty title="Nothing was used in this time">Uploads and searches appear here within some seconds.</Empty>}
        {rows.length > 0 && <Table label="Usage" columns={columns} rows={rows} id={id} loading={usage.isFetchingNextPage} />}
      </Panel>
    </Page>
  );
}

function options(from: Record<string, { label: string }>) {
  return Object.entries(from).map(([value, { label }]) => ({ value, label }));
}

function id(row: Row): string {
  return [row.startTime?.seconds, row.tenantId, row.indexName, row.stage, row.model].join(" ");
}

function from({ startTime }: Row, interval: string): string {
  const text = startTime ? timestampDate(startTime).toISOString() : "";
  if (interval === "month") return text.slice(0, 7);
  return interval === "day" ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}

/** table returns rows with a head, as `ragd usage --csv` writes them. */
function table(rows: Row[]): (string | number)[][] {
  return [
    ["start", "tenant", "index", "stage", "model", "calls", "documents", "chunks", "bytes", "input_tokens", "output_tokens", "seconds"],
    ...rows.map((row) => [
      row.startTime ? timestampDate(row.startTime).toISOString() : "", row.tenantId, row.indexName, row.stage, row.model,
      row.calls, row.documents, row.chunks, row.bytes, row.inputTokens, row.outputTokens, row.seconds,
    ]),
  ];
}
