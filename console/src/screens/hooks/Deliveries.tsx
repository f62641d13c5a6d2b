import { Button, Group, SegmentedControl, Text } from "@mantine/core";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { IconRefresh } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { useLive } from "@/app/live";
import { refresh } from "@/app/queries";
import { HookService, type Delivery } from "@/gen/ragd/v1/hook_pb";
import { Empty } from "@/ui/Empty";
import { count, plural } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { notifyDone, notifyError } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useParameter } from "@/ui/useParameter";
import { DeliveryDetails } from "./DeliveryDetails";

/** settle is how long after an event its delivery is looked for, in ms. */
const settle = 1500;

/** overdue is how long to wait for an attempt that is due already: the hook may be slow, in ms. */
const overdue = 10_000;

/** Deliveries lists what was posted to a hook, and repeats it. */
export function Deliveries({ hookName }: { hookName: string }) {
  const [status, setStatus] = useParameter("status");
  const [opened, setOpened] = useState("");
  const deliveries = useInfiniteQuery(
    HookService.method.listDeliveries, { hookName, status, pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined },
  );
  const rows = deliveries.data?.pages.flatMap((page) => page.deliveries) ?? [];
  useFresh(rows, deliveries.dataUpdatedAt);
  const done = { onSuccess: () => void refresh(HookService), onError: notifyError };
  const replay = useMutation(HookService.method.replayDelivery, done);
  const replayFailed = useMutation(HookService.method.replayFailed, {
    ...done,
    onSuccess: ({ replayedCount }) => {
      notifyDone(`${plural(replayedCount, "delivery", "deliveries")} ${replayedCount === 1 ? "is" : "are"} tried again.`);
      void refresh(HookService);
    },
  });
  const columns: Column<Delivery>[] = [
    { head: "Event", cell: (d) => <Button variant="transparent" size="compact-sm" px={0} aria-expanded={opened === d.deliveryId} onClick={() => setOpened(opened === d.deliveryId ? "" : d.deliveryId)}>{d.type}</Button> },
    { head: "Status", cell: (d) => <Status value={d.status} />, narrow: true },
    { head: "Answer", cell: (d) => (d.statusCode > 0 ? `HTTP ${d.statusCode}` : <Text span size="sm" lineClamp={1} dir="auto">{d.error}</Text>) },
    { head: "Attempts", cell: (d) => count(d.attempts), numeric: true, narrow: true },
    { head: "Created", cell: (d) => <Time value={d.createTime} />, narrow: true },
    { head: "Next attempt", cell: (d) => <Time value={d.nextAttemptTime} />, narrow: true },
    { head: "Repeat", cell: (d) => d.status !== "pending" && <Button size="compact-xs" variant="default" aria-label={`Deliver again: ${d.type}`} loading={replay.isPending && replay.variables?.deliveryId === d.deliveryId} onClick={() => replay.mutate({ hookName, deliveryId: d.deliveryId })}>Deliver again</Button>, narrow: true },
  ];
  const chosen = rows.find((d) => d.deliveryId === opened);
  return (
    <Panel>
      <Group justify="space-between">
        <SegmentedControl size="xs" aria-label="Status of deliveries" value={status} onChange={setStatus} data={[{ value: "", label: "All" }, { value: "pending", label: "Pending" }, { value: "succeeded", label: "Succeeded" }, { value: "failed", label: "Failed" }]} />
        <Button size="xs" variant="default" leftSection={<IconRefresh size={14} />} loading={replayFailed.isPending} onClick={() => replayFailed.mutate({ hookName })}>Deliver all failed again</Button>
      </Group>
      <Loading query={deliveries}>
        {() => (rows.length === 0 && status === ""
          ? <Empty title="Nothing was delivered yet">Deliveries of the last three days appear here as they happen. Send a test to see whether the address answers.</Empty>
          : <Table label="Deliveries" columns={columns} rows={rows} id={(d) => d.deliveryId} more={deliveries.hasNextPage ? () => void deliveries.fetchNextPage() : undefined} loading={deliveries.isFetchingNextPage} />)}
      </Loading>
      {chosen && <Panel title={`Delivery of ${chosen.type}`}><DeliveryDetails delivery={chosen} /></Panel>}
    </Panel>
  );
}

/** useFresh asks for the deliveries again after events of the tenant, and when the next attempt of one is due. */
function useFresh(rows: Delivery[], answered: number) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const later = (ms: number) => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void refresh(HookService);
    }, ms);
  };
  useLive(() => later(settle));
  const due = Math.min(...rows.filter((d) => d.nextAttemptTime).map((d) => timestampDate(d.nextAttemptTime!).getTime()));
  useEffect(() => {
    if (!Number.isFinite(due)) return;
    const wait = setTimeout(() => void refresh(HookService), Math.min(Math.max(due - Date.now(), overdue) + settle, 2 ** 31 - 1));
    return () => clearTimeout(wait);
  }, [due, answered]);
  useEffect(() => () => clearTimeout(timer.current), []);
}
