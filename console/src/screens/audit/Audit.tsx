import { Badge, Button, Code as Mono, Group, SegmentedControl, Select, Skeleton, Text, TextInput } from "@mantine/core";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { IconDownload } from "@tabler/icons-react";
import { useDebouncedValue } from "@mantine/hooks";
import { whyNotAll } from "@/app/rights";
import { useSession } from "@/app/session";
import { AuditService, type AuditEntry } from "@/gen/ragd/v1/audit_pb";
import { saveCSV } from "@/ui/csv";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { count } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useParameter } from "@/ui/useParameter";

/** Audit shows who changed what, and which calls were denied; for an operator without a tenant, everywhere. */
export default function Audit() {
  const session = useSession();
  const why = whyNotAll(session, "The audit log");
  if (why) return <Page title="Audit"><Empty title="Your key does not see the audit log">{why}</Empty></Page>;
  return <Entries key={session.tenant} all={session.tenant === ""} />;
}

const kinds = [{ value: "", label: "All" }, { value: "action", label: "Changes" }, { value: "denied", label: "Denied calls" }, { value: "policy", label: "Policies" }];
const outcomes = ["ok", "unknown", "denied", "unauthenticated", "invalid", "not_found", "exists", "precondition", "conflict", "exhausted", "unavailable", "internal", "redacted", "approved", "declined"];

/** noMethod is what the API does not take as the name of a method. */
const noMethod = /[^A-Za-z0-9_./{}-]/g;

function Entries({ all }: { all: boolean }) {
  const [kind, setKind] = useParameter("kind");
  const [outcome, setOutcome] = useParameter("outcome");
  const [method, setMethod] = useParameter("method");
  const [subject, setSubject] = useParameter("subject");
  const [asked] = useDebouncedValue({ method: method.replace(noMethod, ""), subject }, 300);
  const entries = useInfiniteQuery(
    AuditService.method.listAuditEntries,
    { kind, outcome, ...asked, pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  const rows = entries.data?.pages.flatMap((page) => page.entries) ?? [];
  const columns: Column<AuditEntry>[] = [
    { head: "When", cell: (e) => <Time value={e.createTime} />, narrow: true },
    ...(all ? [{ head: "Tenant", cell: (e: AuditEntry) => e.tenantId, narrow: true }] : []),
    { head: "Who", cell: (e) => <Who entry={e} /> },
    { head: "What", cell: (e) => <What entry={e} /> },
    { head: "Calls", cell: (e) => (e.calls > 1 ? count(e.calls) : ""), numeric: true, narrow: true },
    { head: "Outcome", cell: (e) => <Badge variant="light" radius="sm" tt="none" miw="max-content" color={colorOf(e.outcome)}>{(e.outcome || "unknown").replaceAll("_", " ")}</Badge>, narrow: true },
  ];
  const save = <Button variant="default" leftSection={<IconDownload size={16} />} disabled={rows.length === 0} onClick={() => saveCSV("audit.csv", table(rows))}>Save as CSV</Button>;
  const filtered = Boolean(kind || outcome || method || subject);
  return (
    <Page title="Audit" about="Who changed what, and which calls were denied. Newest first." actions={save}>
      <Panel>
        <Group align="end">
          <SegmentedControl aria-label="Kind" data={kinds} value={kind} onChange={setKind} />
          <TextInput aria-label="Method" placeholder="Method, such as DeleteIndex" value={method} onChange={(event) => setMethod(event.currentTarget.value)} w={230} />
          <TextInput aria-label="Who" placeholder="Id of a key, or subject" value={subject} maxLength={1000} onChange={(event) => setSubject(event.currentTarget.value)} w={200} />
          <Select aria-label="Outcome" placeholder="All outcomes" clearable data={outcomes.map((value) => ({ value, label: value.replaceAll("_", " ") }))} value={outcome || null} onChange={(value) => setOutcome(value ?? "")} w={170} />
        </Group>
        {entries.isPending && <Skeleton h={80} />}
        {entries.isError && <ErrorView error={entries.error} retry={() => void entries.refetch()} />}
        {entries.isSuccess && rows.length === 0 && <Empty title={filtered ? "Nothing matches" : "Nothing was changed yet"}>Every change of tenants, keys, indexes, tools and other definitions appears here at once, and denied calls within a minute.</Empty>}
        {rows.length > 0 && <Table label="Audit log" columns={columns} rows={rows} id={(e) => e.entryId} more={entries.hasNextPage ? () => void entries.fetchNextPage() : undefined} loading={entries.isFetchingNextPage} />}
      </Panel>
    </Page>
  );
}

function colorOf(outcome: string): string {
  if (outcome === "ok") return "green";
  return outcome === "" ? "yellow" : "red";
}

function Who({ entry }: { entry: AuditEntry }) {
  return (
    <div>
      <Text size="sm" dir="auto">{entry.subject || "not known"}</Text>
      <Text size="xs" c="dimmed">{[entry.clientAddress, entry.issuer].filter(Boolean).join(", ")}</Text>
    </div>
  );
}

/** What shows the method without its service, and the names of the object. */
function What({ entry }: { entry: AuditEntry }) {
  const names = { ...entry.object, ...entry.result };
  return (
    <div>
      <Text size="sm" fw={600} title={entry.method}>{entry.method.split("/").at(-1)}</Text>
      <Text size="xs" component="div" dir="auto">
        {Object.keys(names).sort().map((name) => <span key={name}><Mono>{name}</Mono> {names[name]} </span>)}
      </Text>
    </div>
  );
}

/** table returns entries with a head, as `ragd audit --csv` writes them. */
function table(entries: AuditEntry[]): (string | number)[][] {
  const names = (of: Record<string, string>) => (Object.keys(of).length > 0 ? JSON.stringify(of) : "");
  return [
    ["entry", "time", "kind", "tenant", "subject", "issuer", "client", "method", "object", "request", "calls", "outcome", "ended", "result"],
    ...entries.map((e) => [
      e.entryId, e.createTime ? timestampDate(e.createTime).toISOString() : "", e.kind, e.tenantId, e.subject, e.issuer, e.clientAddress, e.method,
      names(e.object), e.requestId, e.calls, e.outcome, e.endTime ? timestampDate(e.endTime).toISOString() : "", names(e.result),
    ]),
  ];
}
