import { Alert, Button, Checkbox, Group, Modal, Stack, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { IconPlayerPause, IconPlayerPlay, IconRefresh } from "@tabler/icons-react";
import { useState } from "react";
import { useParams } from "react-router";
import { refresh } from "@/app/queries";
import { ConnectorSchema, ConnectorService, CreateConnectorRequestSchema, type Connector } from "@/gen/ragd/v1/connector_pb";
import { SecretService } from "@/gen/ragd/v1/secret_pb";
import { Code } from "@/ui/Code";
import { Confirm } from "@/ui/Confirm";
import { ErrorView } from "@/ui/ErrorView";
import { Definition, definitionOf } from "@/ui/form/Definition";
import { plural } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { useNames } from "@/ui/useNames";
import { useParameter } from "@/ui/useParameter";
import { useRemoval } from "@/ui/useRemoval";
import { connectorFields, isKind, sourceOf, stateOf, updateConnector } from "./definition";
import { Guard } from "./Guard";
import { Items } from "./Items";
import { Documents } from "./Documents";
import { LastRun } from "./LastRun";
import { SignIn } from "./SignIn";
import { TryConnector } from "./TryConnector";

/** ConnectorScreen shows a connector: its runs, what it knows of each item, its documents and its definition. */
export default function ConnectorScreen() {
  const { connector = "" } = useParams();
  return <Guard><Details key={connector} connectorName={connector} /></Guard>;
}

function Details({ connectorName }: { connectorName: string }) {
  const [tab, setTab] = useParameter("tab", "runs");
  const connector = useQuery(ConnectorService.method.getConnector, { connectorName }, {
    refetchInterval: ({ state: { data } }) => (data && (data.status === "running" || data.authorization === "needed" || (data.status === "" && !data.paused)) ? 1500 : 15_000),
  });
  return (
    <Page
      title={connectorName} crumbs={[{ to: "/connectors", label: "Connectors" }]} actions={connector.data && <Actions connector={connector.data} />}
      about={connector.data && <Group gap="xs"><Status value={stateOf(connector.data)} /><span dir="auto">{connector.data.description || `${sourceOf(connector.data).label}: ${sourceOf(connector.data).address}`}</span></Group>}
    >
      <Loading query={connector}>
        {(connector) => (
          <>
            <Trouble connector={connector} />
            <SignIn connector={connector} />
            <Tabs value={tab} onChange={(next) => setTab(next ?? "runs")} keepMounted={false}>
              <Tabs.List aria-label="Parts of the connector" mb="md">
                <Tabs.Tab value="runs">Runs</Tabs.Tab>
                <Tabs.Tab value="items">Items</Tabs.Tab>
                <Tabs.Tab value="documents">Documents</Tabs.Tab>
                <Tabs.Tab value="test">Test</Tabs.Tab>
                <Tabs.Tab value="definition">Definition</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="runs"><LastRun connector={connector} /></Tabs.Panel>
              <Tabs.Panel value="items"><Items connectorName={connectorName} running={connector.status === "running"} /></Tabs.Panel>
              <Tabs.Panel value="documents"><Documents connector={connector} /></Tabs.Panel>
              <Tabs.Panel value="test"><TryConnector connectorName={connectorName} /></Tabs.Panel>
              <Tabs.Panel value="definition"><Edit connector={connector} /></Tabs.Panel>
            </Tabs>
          </>
        )}
      </Loading>
    </Page>
  );
}

function Actions({ connector: { connectorName, paused, pausedReason, status } }: { connector: Connector }) {
  const settled = { onSettled: () => void refresh(ConnectorService) };
  const sync = useMutation(ConnectorService.method.syncConnector, settled);
  const pause = useMutation(ConnectorService.method.pauseConnector, settled);
  const [resuming, setResuming] = useState(false);
  const resume = useMutation(ConnectorService.method.resumeConnector, { ...settled, onSuccess: () => setResuming(false) });
  const [accept, setAccept] = useState(false);
  const error = sync.error ?? pause.error ?? resume.error;
  return (
    <>
      {!paused && <Button leftSection={<IconRefresh size={16} />} loading={sync.isPending} onClick={() => sync.mutate({ connectorName })}>{status === "running" ? "Run once more" : "Run now"}</Button>}
      {!paused && <Button variant="default" leftSection={<IconPlayerPause size={16} />} loading={pause.isPending} onClick={() => pause.mutate({ connectorName })}>Pause</Button>}
      {paused && <Button leftSection={<IconPlayerPlay size={16} />} loading={resume.isPending} onClick={() => (pausedReason ? setResuming(true) : resume.mutate({ connectorName }))}>Resume</Button>}
      <Modal opened={resuming} onClose={() => setResuming(false)} title="Resume the connector?" centered>
        <Stack>
          <Text size="sm" dir="auto">The service paused it: {pausedReason}</Text>
          <Checkbox label="Let the next run delete all documents whose items are gone" checked={accept} onChange={(event) => setAccept(event.currentTarget.checked)} />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setResuming(false)}>Cancel</Button>
            <Button loading={resume.isPending} onClick={() => resume.mutate({ connectorName, acceptDeletions: accept })}>Resume</Button>
          </Group>
        </Stack>
      </Modal>
      {error && <ErrorView error={error} />}
    </>
  );
}

function Trouble({ connector }: { connector: Connector }) {
  if (connector.pausedReason) return <Alert color="yellow" title="The service has paused the connector">{connector.pausedReason}</Alert>;
  if (connector.status === "failed" && connector.error && connector.authorization !== "needed") return <Alert color="red" title="The last run failed">{connector.error}</Alert>;
  return null;
}

function Edit({ connector }: { connector: Connector }) {
  const { indexes } = useNames();
  const secrets = useQuery(SecretService.method.listSecrets, { pageSize: 1000 }, { retry: false });
  const update = useMutation(ConnectorService.method.updateConnector);
  const { paused: _, ...value } = definitionOf(ConnectorSchema, connector, CreateConnectorRequestSchema);
  const kind = connector.source.case ?? null;
  return (
    <Stack>
      <Panel>
        <Text size="sm" c="dimmed">A change starts a run that reads all items again, unless the connector is paused.</Text>
        {connector.pushUrl && <Text size="sm">The source announces changes to:</Text>}
        {connector.pushUrl && <Code text={new URL(connector.pushUrl, window.location.origin).href} label="Copy the address" />}
        <Definition
          schema={CreateConnectorRequestSchema} fields={isKind(kind) ? connectorFields(kind, { stored: true, indexes, secrets: secrets.data?.secrets.map((secret) => secret.secretName) ?? [] }) : []} value={value} action="Save" stored
          onSave={async (definition) => {
            await update.mutateAsync(updateConnector(definition));
            await refresh(ConnectorService);
            notifyDone("Saved.");
          }}
        />
      </Panel>
      <Delete connectorName={connector.connectorName} />
    </Stack>
  );
}

function Delete({ connectorName }: { connectorName: string }) {
  const [asking, setAsking] = useState(false);
  const [deleteDocuments, setDeleteDocuments] = useState(false);
  const removal = useRemoval();
  const remove = useMutation(ConnectorService.method.deleteConnector);
  async function confirm() {
    await removal(async () => {
      const { deletedCount, keptSlot } = await remove.mutateAsync({ connectorName, deleteDocuments });
      notifyDone(`Deleted the connector ${connectorName}${deleteDocuments ? ` and ${plural(deletedCount, "document")}` : ""}.${keptSlot && ` Its replication slot ${keptSlot} could not be dropped: drop it in the database, which keeps its log until then.`}`);
    }, "/connectors");
  }
  return (
    <Panel title="Delete">
      <Checkbox label="Delete its documents, too" description="Otherwise they stay as they are." checked={deleteDocuments} onChange={(event) => setDeleteDocuments(event.currentTarget.checked)} />
      <div><Button color="red" variant="outline" onClick={() => setAsking(true)}>Delete the connector</Button></div>
      <Confirm opened={asking} onClose={() => setAsking(false)} title={`Delete the connector ${connectorName}?`} action="Delete" type={connectorName} onConfirm={confirm}>
        {deleteDocuments ? "Its documents are deleted, too. This cannot be undone." : "Its documents stay, and are no longer kept the same as the source."}
      </Confirm>
    </Panel>
  );
}
