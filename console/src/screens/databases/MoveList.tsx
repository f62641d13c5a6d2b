import { Anchor, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { useEffect } from "react";
import { Link } from "react-router";
import { TenantService, type TenantMove } from "@/gen/ragd/v1/tenant_pb";
import { bytes, count, millis } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

/** ends reports whether a move will not change any more. */
export function ended(move: TenantMove): boolean {
  return move.phase === "done" || move.phase === "failed";
}

/** MoveList lists moves between databases, newest first, of a tenant or of all, and follows those that go on. onSwitched is told where the newest has led. */
export function MoveList({ tenantId = "", onSwitched }: { tenantId?: string; onSwitched?: (databaseName: string) => void }) {
  const moves = useInfiniteQuery(
    TenantService.method.listTenantMoves, { tenantId, pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined, refetchInterval: ({ state }) => (state.data?.pages.some((page) => page.moves.some((move) => !ended(move))) ? 2000 : 30_000) },
  );
  const newest = moves.data?.pages[0]?.moves[0];
  const switched = newest && (newest.phase === "dropping" || newest.phase === "done") ? newest.databaseName : "";
  useEffect(() => {
    if (switched) onSwitched?.(switched);
  }, [switched]); // eslint-disable-line
  const columns: Column<TenantMove>[] = [
    ...(tenantId ? [] : [{ head: "Tenant", cell: (move: TenantMove) => <Anchor component={Link} size="sm" to={`/tenants/${encodeURIComponent(move.tenantId)}`}>{move.tenantId}</Anchor> }]),
    { head: "From", cell: (move) => move.fromDatabaseName, narrow: true },
    { head: "To", cell: (move) => move.databaseName, narrow: true },
    { head: "Phase", cell: (move) => <Status value={move.phase} />, narrow: true },
    { head: "What is done", cell: (move) => <>{!ended(move) && <Text size="sm">{move.step}</Text>}{move.error && <Text size="xs" c="red">{move.error}{move.attempts > 1 && ` (attempt ${move.attempts})`}</Text>}{move.phase === "dropping" && <Text size="xs" c="dimmed">the old copy is kept until <Time value={move.keepUntilTime} /></Text>}</> },
    { head: "Copied", cell: (move) => `${count(move.rows)} rows, ${bytes(move.bytes)}`, numeric: true, narrow: true },
    { head: "Writes refused", cell: (move) => (move.writePauseMs > 0 ? millis(move.writePauseMs) : ""), numeric: true, narrow: true },
    { head: "Began", cell: (move) => <Time value={move.createTime} />, narrow: true },
  ];
  return (
    <Loading query={moves}>
      {({ pages }) => {
        const rows = pages.flatMap((page) => page.moves);
        if (rows.length === 0) return <Text size="sm" c="dimmed">{tenantId ? "It was never moved." : "No tenant was ever moved."}</Text>;
        return <Table label="Moves" columns={columns} rows={rows} id={(move) => move.moveId} more={moves.hasNextPage ? () => void moves.fetchNextPage() : undefined} loading={moves.isFetchingNextPage} />;
      }}
    </Loading>
  );
}
