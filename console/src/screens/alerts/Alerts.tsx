import { Anchor, Button, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { refresh } from "@/app/queries";
import { AlertService, CreateAlertRequestSchema, type Alert } from "@/gen/ragd/v1/alert_pb";
import { Empty } from "@/ui/Empty";
import { Definition } from "@/ui/form/Definition";
import { Lines, Loading } from "@/ui/Loading";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useNames } from "@/ui/useNames";
import { alertFields, nameOf, state } from "./definition";
import { Preview } from "./Preview";

/** Alerts lists the standing questions that the visitor may see, and creates them. */
export default function Alerts() {
  const [parameters] = useSearchParams();
  return <OfTenant title="Alerts">{parameters.has("create") ? <Create /> : <List />}</OfTenant>;
}

const about = "An alert is a question that every new passage of an index is compared with.";

const columns: Column<Alert>[] = [
  { head: "Name", cell: (alert) => <Anchor component={Link} to={`/alerts/${alert.alertId}`} fw={600} dir="auto">{nameOf(alert)}</Anchor> },
  { head: "State", cell: (alert) => <Status value={state(alert)} />, narrow: true },
  { head: "Index", cell: (alert) => alert.indexName },
  { head: "Question", cell: (alert) => <Text size="sm" dir="auto" lineClamp={2}>{alert.queryText}</Text> },
  { head: "Made by", cell: (alert) => alert.subject, narrow: true },
  { head: "Changed", cell: (alert) => <Time value={alert.updateTime} />, narrow: true },
];

function List() {
  const alerts = useInfiniteQuery(AlertService.method.listAlerts, { pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  const create = <Button component={Link} to="/alerts?create" leftSection={<IconPlus size={16} />}>Create an alert</Button>;
  return (
    <Page title="Alerts" about={about} actions={create}>
      <Loading query={alerts}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.alerts);
          if (rows.length === 0) return <Empty title="No alert yet" action={create}>Create one to be told of each new passage that answers a question.</Empty>;
          return <Panel><Table label="Alerts" columns={columns} rows={rows} id={(alert) => alert.alertId} more={alerts.hasNextPage ? () => void alerts.fetchNextPage() : undefined} loading={alerts.isFetchingNextPage} /></Panel>;
        }}
      </Loading>
    </Page>
  );
}

function Create() {
  const { indexes, busy } = useNames();
  const [parameters] = useSearchParams();
  const navigate = useNavigate();
  const create = useMutation(AlertService.method.createAlert);
  const named = parameters.get("index") ?? (indexes.length === 1 ? indexes[0] : undefined);
  const question = parameters.get("question");
  return (
    <Page title="Create an alert" about={about} crumbs={[{ to: "/alerts", label: "Alerts" }]}>
      <Panel>
        {busy ? <Lines /> : <Definition
          schema={CreateAlertRequestSchema} fields={alertFields({ stored: false, indexes })} action="Create the alert"
          value={{ ...(named && { indexName: named }), ...(question && { queryText: question }) }}
          preview={(draft) => <Preview alert={draft} />}
          onSave={async (definition) => {
            const { alertId } = await create.mutateAsync(definition);
            await refresh(AlertService);
            await navigate(`/alerts/${alertId}`);
          }}
        />}
      </Panel>
    </Page>
  );
}
