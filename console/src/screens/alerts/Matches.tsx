import { Anchor, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import { AlertService, type Alert, type AlertMatch } from "@/gen/ragd/v1/alert_pb";
import { Empty } from "@/ui/Empty";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

/** Matches lists the passages that matched an alert, the newest first, as they are now. */
export function Matches({ alert }: { alert: Alert }) {
  const matches = useInfiniteQuery(
    AlertService.method.listAlertMatches, { alertId: alert.alertId, pageSize: 50, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined },
  );
  const columns: Column<AlertMatch>[] = [
    { head: "Document", cell: ({ source }) => source && <Anchor component={Link} size="sm" dir="auto" to={`/indexes/${encodeURIComponent(alert.indexName)}/documents/${source.documentId}?chunk=${source.ordinal}`}>{source.title || source.uri}</Anchor> },
    { head: "Passage", cell: ({ source }) => <Text size="sm" dir="auto" lineClamp={3}>{source?.document}</Text> },
    ...(alert.searchMode === "keyword" ? [] : [{ head: "Similarity", cell: ({ source }: AlertMatch) => source?.score.toFixed(3), numeric: true, narrow: true }]),
    { head: "Matched", cell: ({ createTime }) => <Time value={createTime} />, narrow: true },
  ];
  return (
    <Panel title="What matched">
      <Loading query={matches}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.matches);
          if (rows.length === 0) return <Empty title="Nothing matched yet">Passages that are ingested from now on appear here. Those that were there before do not match.</Empty>;
          return <Table label="Matches" columns={columns} rows={rows} id={(match) => match.matchId} more={matches.hasNextPage ? () => void matches.fetchNextPage() : undefined} loading={matches.isFetchingNextPage} />;
        }}
      </Loading>
    </Panel>
  );
}
