import { Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Link } from "react-router";
import { whyNotAll } from "@/app/rights";
import { useSession } from "@/app/session";
import { ConnectorService } from "@/gen/ragd/v1/connector_pb";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import type { Index } from "@/gen/ragd/v1/index_pb";
import { count, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import classes from "./Home.module.css";
import { days, useSearches, type Use } from "./useSearches";

/** recent is how long a failed job is shown, in ms. */
const recent = 7 * 86_400_000;

/** Health shows whether documents are taken in, what has failed, and how much is searched. */
export function Health({ indexes }: { indexes: Index[] }) {
  const session = useSession();
  const knows = whyNotAll(session, "") === "";
  const { use } = useSearches(knows);
  const sum = (of: (index: Index) => number) => indexes.reduce((sum, index) => sum + of(index), 0);
  const pending = sum((index) => index.pendingDocumentCount);
  return (
    <Panel title="Documents and searches">
      <dl className={classes.figures}>
        <div><dt>Documents</dt><dd>{count(sum((index) => index.documentCount))}</dd></div>
        <div><dt>Chunks</dt><dd>{count(sum((index) => index.count))}</dd></div>
        <div><dt>In work</dt><dd>{count(pending)}</dd></div>
        <div data-bad={sum((index) => index.failedDocumentCount) > 0 || undefined}><dt>Failed</dt><dd>{count(sum((index) => index.failedDocumentCount))}</dd></div>
      </dl>
      {knows && (
        <div className={classes.charts}>
          <Chart use={use} of="documents" noun="document" about="became searchable" />
          <Chart use={use} of="searches" noun="search" many="searches" about="answered" />
        </div>
      )}
      <Failures indexes={indexes} knows={knows} pending={pending} />
    </Panel>
  );
}

function Chart({ use, of, noun, many, about }: { use: Use[]; of: "documents" | "searches"; noun: string; many?: string; about: string }) {
  const most = Math.max(1, ...use.map((day) => day[of]));
  const sum = use.reduce((sum, day) => sum + day[of], 0);
  return (
    <figure className={classes.chart}>
      <figcaption>{plural(sum, noun, many)} {about} in {days} days</figcaption>
      <div role="img" aria-label={use.map((day) => `${day.from.toISOString().slice(0, 10)}: ${count(day[of])}`).join(", ")} className={classes.bars}>
        {use.map((day) => <span key={day.from.getTime()} title={`${day.from.toISOString().slice(0, 10)}: ${count(day[of])}`} style={{ height: day[of] > 0 ? `${Math.max(6, (100 * day[of]) / most)}%` : 1 }} data-none={day[of] === 0 || undefined} />)}
      </div>
    </figure>
  );
}

/** Failures lists what has failed, each with the page that shows why. */
function Failures({ indexes, knows, pending }: { indexes: Index[]; knows: boolean; pending: number }) {
  const jobs = useQuery(DocumentService.method.listJobs, { status: "failed", pageSize: 100 });
  const connectors = useQuery(ConnectorService.method.listConnectors, { pageSize: 1000 }, { enabled: knows });
  const since = Date.now() - recent;
  const failed = (jobs.data?.jobs ?? []).filter((job) => job.updateTime && timestampDate(job.updateTime).getTime() > since && job.kind !== "ingest").length;
  const lines = [
    ...indexes.filter((index) => index.failedDocumentCount > 0).map(({ indexName, failedDocumentCount }) => ({
      to: `/indexes/${encodeURIComponent(indexName)}?status=failed`, text: `${plural(failedDocumentCount, "document")} of ${indexName} could not be read`,
    })),
    ...(failed > 0 ? [{ to: "/jobs?status=failed", text: `${plural(failed, "job")} failed in the last 7 days` }] : []),
    ...(connectors.data?.connectors ?? []).filter(({ error, counts }) => error !== "" || (counts?.failed ?? 0) > 0).map(({ connectorName, error, counts }) => ({
      to: `/connectors/${encodeURIComponent(connectorName)}`, text: error ? `The connector ${connectorName} failed: ${error}` : `${plural(counts?.failed ?? 0, "item")} of the connector ${connectorName} failed`,
    })),
  ];
  if (lines.length === 0) return <Text size="sm" c="dimmed">{pending > 0 ? `${plural(pending, "document")} in work.` : "Nothing has failed."}</Text>;
  return <ul className={classes.failures} aria-label="What has failed">{lines.map(({ to, text }) => <li key={to}><Link to={to} dir="auto">{text}</Link></li>)}</ul>;
}
