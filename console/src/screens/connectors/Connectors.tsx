import { Anchor, Button, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { ConnectorService, CreateConnectorRequestSchema, type Connector } from "@/gen/ragd/v1/connector_pb";
import { SecretService } from "@/gen/ragd/v1/secret_pb";
import { Empty } from "@/ui/Empty";
import { Definition } from "@/ui/form/Definition";
import { count } from "@/ui/format";
import { Lines, Loading } from "@/ui/Loading";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useNames } from "@/ui/useNames";
import classes from "./Connectors.module.css";
import { connectorFields, isKind, kinds, sourceOf, stateOf, type Kind } from "./definition";
import { Guard } from "./Guard";

const about = "A connector keeps documents of an index the same as the items of a source.";
const crumbs = [{ to: "/connectors", label: "Connectors" }];

/** Connectors lists the connectors of the tenant, and creates them. */
export default function Connectors() {
  const [parameters] = useSearchParams();
  const kind = parameters.get("create");
  return <Guard>{kind === null ? <List /> : isKind(kind) ? <Create key={kind} kind={kind} /> : <Choose />}</Guard>;
}

const columns: Column<Connector>[] = [
  { head: "Name", cell: (connector) => <Anchor component={Link} fw={600} to={`/connectors/${encodeURIComponent(connector.connectorName)}`}>{connector.connectorName}</Anchor> },
  { head: "State", cell: (connector) => <Status value={stateOf(connector)} />, narrow: true },
  { head: "Source", cell: (connector) => <Text size="sm" dir="auto">{sourceOf(connector).label}: {sourceOf(connector).address}</Text> },
  { head: "Index", cell: (connector) => connector.indexName },
  { head: "Items", cell: (connector) => count(connector.counts?.seen ?? 0), numeric: true, narrow: true },
  { head: "Failed", cell: (connector) => count(connector.counts?.failed ?? 0), numeric: true, narrow: true },
  { head: "Last run", cell: (connector) => <Time value={connector.startTime} />, narrow: true },
  { head: "Next run", cell: (connector) => <Time value={connector.nextRunTime} />, narrow: true },
];

function List() {
  const connectors = useInfiniteQuery(
    ConnectorService.method.listConnectors, { pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined, refetchInterval: ({ state }) => (state.data?.pages.some((page) => page.connectors.some((connector) => connector.status === "running")) ? 3000 : 20_000) },
  );
  const create = <Button component={Link} to="/connectors?create" leftSection={<IconPlus size={16} />}>Create a connector</Button>;
  return (
    <Page title="Connectors" about={about} actions={create}>
      <Loading query={connectors}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.connectors);
          if (rows.length === 0) return <Empty title="No connector yet" action={create}>Websites, feeds, repositories, buckets, databases and MCP servers can be read on a schedule.</Empty>;
          return <Panel><Table label="Connectors" columns={columns} rows={rows} id={(connector) => connector.connectorName} more={connectors.hasNextPage ? () => void connectors.fetchNextPage() : undefined} loading={connectors.isFetchingNextPage} /></Panel>;
        }}
      </Loading>
    </Page>
  );
}

function Choose() {
  const { operator } = useSession();
  return (
    <Page title="Create a connector" about="What is the source?" crumbs={crumbs}>
      <div className={classes.kinds}>
        {kinds.filter((kind) => operator || !kind.operator).map(({ kind, label, about }) => (
          <Link key={kind} className={classes.kind} to={`/connectors?create=${kind}`}>
            <b>{label}</b>
            <Text size="sm" c="dimmed">{about}</Text>
          </Link>
        ))}
      </div>
    </Page>
  );
}

function Create({ kind }: { kind: Kind }) {
  const { indexes, busy } = useNames();
  const secrets = useQuery(SecretService.method.listSecrets, { pageSize: 1000 }, { retry: false });
  const navigate = useNavigate();
  const create = useMutation(ConnectorService.method.createConnector);
  const { label, about } = kinds.find((known) => known.kind === kind)!;
  return (
    <Page title={`Create a connector: ${label}`} about={about} crumbs={[...crumbs, { to: "/connectors?create", label: "Source" }]}>
      <Panel>
        {busy ? <Lines /> : <Definition
          schema={CreateConnectorRequestSchema} fields={connectorFields(kind, { stored: false, indexes, secrets: secrets.data?.secrets.map((secret) => secret.secretName) ?? [] })} action="Create the connector"
          value={{ schedule: "@daily", ...(indexes.length === 1 ? { indexName: indexes[0]! } : {}) }}
          onSave={async (definition) => {
            const { connectorName } = await create.mutateAsync(definition);
            void refresh(ConnectorService);
            await navigate(`/connectors/${encodeURIComponent(connectorName)}`);
          }}
        />}
      </Panel>
    </Page>
  );
}
