import { Alert as Notice, Anchor, Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { Link, useParams } from "react-router";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { AlertSchema, AlertService, CreateAlertRequestSchema, type Alert } from "@/gen/ragd/v1/alert_pb";
import { Delete } from "@/ui/Delete";
import { Definition, definitionOf } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { notifyDone, notifyError } from "@/ui/notify";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { useNames } from "@/ui/useNames";
import { useParameter } from "@/ui/useParameter";
import { alertFields, nameOf, state, updateAlert } from "./definition";
import { Matches } from "./Matches";
import { Preview } from "./Preview";
import { Receivers } from "./Receivers";

/** AlertScreen shows an alert: what matched, who is told of it, and its definition. */
export default function AlertScreen() {
  const { alert = "" } = useParams();
  return <OfTenant title="Alerts"><Details key={alert} alertId={alert} /></OfTenant>;
}

function Details({ alertId }: { alertId: string }) {
  const { who } = useSession();
  const [tab, setTab] = useParameter("tab", "matches");
  const alert = useQuery(AlertService.method.getAlert, { alertId });
  const update = useMutation(AlertService.method.updateAlert, { onSuccess: () => void refresh(AlertService), onError: notifyError });
  const own = alert.data?.subject === who.subject;
  const actions = alert.data && own && (
    <Button
      variant="default" loading={update.isPending} leftSection={alert.data.paused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />}
      onClick={() => update.mutate({ alertId, paused: !alert.data.paused })}
    >
      {alert.data.paused ? "Resume" : "Pause"}
    </Button>
  );
  return (
    <Page title={alert.data ? nameOf(alert.data) : "Alert"} about={alert.data && <Group gap="xs"><Status value={state(alert.data)} /><span dir="auto">{alert.data.indexName}: {alert.data.queryText}</span></Group>} crumbs={[{ to: "/alerts", label: "Alerts" }]} actions={actions}>
      <Loading query={alert}>
        {(alert) => (
          <>
            {alert.endedReason && <Notice color="red" title="The alert has ended">{alert.endedReason}</Notice>}
            {alert.paused && <Notice color="yellow" title="The alert is paused">Passages that are ingested meanwhile never match, also when it is resumed.</Notice>}
            <Tabs value={tab} onChange={(next) => setTab(next ?? "matches")} keepMounted={false}>
              <Tabs.List aria-label="Parts of the alert" mb="md">
                <Tabs.Tab value="matches">Matches</Tabs.Tab>
                <Tabs.Tab value="definition">Definition</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="matches"><Stack><Matches alert={alert} /><Receivers indexName={alert.indexName} /></Stack></Tabs.Panel>
              <Tabs.Panel value="definition"><Edit alert={alert} own={own} /></Tabs.Panel>
            </Tabs>
          </>
        )}
      </Loading>
    </Page>
  );
}

function Edit({ alert, own }: { alert: Alert; own: boolean }) {
  const { indexes } = useNames();
  const update = useMutation(AlertService.method.updateAlert);
  const remove = useMutation(AlertService.method.deleteAlert);
  return (
    <Stack>
      {own ? (
        <Panel>
          <Definition
            schema={CreateAlertRequestSchema} fields={alertFields({ stored: true, indexes })} value={definitionOf(AlertSchema, alert, CreateAlertRequestSchema)} action="Save" stored
            preview={(draft) => <Preview alert={draft} />}
            onSave={async (definition) => {
              await update.mutateAsync(updateAlert(alert.alertId, definition));
              await refresh(AlertService);
              notifyDone("Saved. It holds for passages from now on.");
            }}
          />
        </Panel>
      ) : (
        <Panel><Text size="sm">It works with the rights of <b>{alert.subject}</b>, and only that credential changes it. <Anchor component={Link} inherit underline="always" to={`/alerts?create&index=${encodeURIComponent(alert.indexName)}&question=${encodeURIComponent(alert.queryText)}`}>Make one like it</Anchor></Text></Panel>
      )}
      <Delete what="the alert" name={nameOf(alert).slice(0, 40).trim()} to="/alerts" onDelete={() => remove.mutateAsync({ alertId: alert.alertId })}>
        Its matches are deleted with it.
      </Delete>
    </Stack>
  );
}
