import { Button, Group, Modal, NumberInput, PasswordInput, Select, Stack, Tabs, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { DatabaseService, type Database } from "@/gen/ragd/v1/database_pb";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { bytes, count } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { useParameter } from "@/ui/useParameter";
import { MoveList } from "./MoveList";
import { Reencrypt } from "./Reencrypt";

/** Databases lists the databases in which tenants live, and the moves between them, for the operator. */
export default function Databases() {
  const session = useSession();
  const [tab, setTab] = useParameter("tab", "databases");
  const [editing, setEditing] = useState<Database | "new">();
  if (!session.operator) return <Page title="Databases"><Empty title="Only the operator sees databases">Sign in with the operator's key to register databases and to move tenants.</Empty></Page>;
  return (
    <Page title="Databases" about="Tenants live in these databases. A tenant is moved on its own page." actions={<Button leftSection={<IconPlus size={16} />} onClick={() => setEditing("new")}>Register a database</Button>}>
      <Tabs value={tab} onChange={(next) => setTab(next ?? "databases")} keepMounted={false}>
        <Tabs.List aria-label="Parts of the databases" mb="md">
          <Tabs.Tab value="databases">Databases</Tabs.Tab>
          <Tabs.Tab value="moves">Moves of tenants</Tabs.Tab>
          <Tabs.Tab value="secrets">Secrets</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="databases"><List edit={setEditing} /></Tabs.Panel>
        <Tabs.Panel value="moves"><Panel><MoveList /></Panel></Tabs.Panel>
        <Tabs.Panel value="secrets"><Reencrypt /></Tabs.Panel>
      </Tabs>
      {editing !== undefined && <Edit database={editing === "new" ? undefined : editing} onClose={() => setEditing(undefined)} />}
    </Page>
  );
}

function List({ edit }: { edit: (database: Database) => void }) {
  const [removing, setRemoving] = useState("");
  const databases = useQuery(DatabaseService.method.listDatabases, {}, { refetchInterval: 15_000 });
  const remove = useMutation(DatabaseService.method.deleteDatabase);
  const columns: Column<Database>[] = [
    { head: "Name", cell: (database) => <Text size="sm" fw={600}>{database.databaseName}</Text> },
    { head: "State", cell: (database) => <Status value={database.answers ? "answers" : "failed"} />, narrow: true },
    { head: "Address", cell: (database) => <>{database.address}{database.ownerTenantId && <Text size="xs" c="dimmed">brought by {database.ownerTenantId}</Text>}{database.distribution && <Text size="xs" c="dimmed">{database.distribution}</Text>}{database.problem && <Text size="xs" c="red">{database.problem}</Text>}</> },
    { head: "Tenants", cell: (database) => count(database.tenants), numeric: true, narrow: true },
    { head: "Size", cell: (database) => (database.bytes > 0 ? bytes(database.bytes) : ""), numeric: true, narrow: true },
    { head: "Connections", cell: (database) => count(database.maxConnections), numeric: true, narrow: true },
    { head: "Schema", cell: (database) => (database.schemaVersion === 0 ? "" : database.schemaVersion === database.newestSchemaVersion ? String(database.schemaVersion) : `${database.schemaVersion} of ${database.newestSchemaVersion}`), numeric: true, narrow: true },
    {
      head: "Change", narrow: true,
      cell: (database) => database.databaseName !== "main" && (
        <Group gap={4} wrap="nowrap">
          <Button size="compact-xs" variant="default" aria-label={`Change ${database.databaseName}`} onClick={() => edit(database)}>Change</Button>
          <Button size="compact-xs" variant="light" color="red" aria-label={`Remove ${database.databaseName}`} onClick={() => setRemoving(database.databaseName)}>Remove</Button>
        </Group>
      ),
    },
  ];
  return (
    <Panel>
      <Loading query={databases}>{({ databases }) => <Table label="Databases" columns={columns} rows={databases} id={(database) => database.databaseName} />}</Loading>
      <Confirm opened={removing !== ""} onClose={() => setRemoving("")} title={`Remove the database ${removing}?`} action="Remove" onConfirm={async () => {
        await remove.mutateAsync({ databaseName: removing });
        await refresh(DatabaseService);
      }}>
        No tenant may live there any more. What is in the database stays.
      </Confirm>
    </Panel>
  );
}

/** Edit registers a database, or changes the URL or the connections of one. The URL is never shown. */
function Edit({ database, onClose }: { database?: Database; onClose: () => void }) {
  const [databaseName, setDatabaseName] = useState(database?.databaseName ?? "");
  const [url, setUrl] = useState("");
  const [connections, setConnections] = useState<number | "">(database?.maxConnections ?? "");
  const [ownerTenantId, setOwner] = useState("");
  const [distribution, setDistribution] = useState("");
  const done = {
    onSuccess: () => {
      notifyDone(database ? "Saved." : `Registered the database ${databaseName}.`);
      void refresh(DatabaseService);
      onClose();
    },
  };
  const register = useMutation(DatabaseService.method.registerDatabase, done);
  const update = useMutation(DatabaseService.method.updateDatabase, done);
  function submit(event: FormEvent) {
    event.preventDefault();
    if (database) update.mutate({ databaseName, url: url || undefined, maxConnections: connections || undefined });
    else register.mutate({ databaseName, url, maxConnections: connections || 0, ownerTenantId, distribution });
  }
  const error = register.error ?? update.error;
  return (
    <Modal opened onClose={onClose} title={database ? `Change the database ${databaseName}` : "Register a database"} size="lg">
      <form onSubmit={submit} autoComplete="off">
        <Stack>
          {!database && <TextInput label="Name" description="1 to 40 lower-case letters, digits and hyphens, the first a letter." value={databaseName} onChange={(event) => setDatabaseName(event.currentTarget.value)} required data-autofocus />}
          <PasswordInput label="URL" description={database ? "Of the same database, with other credentials or another address. It is never shown; without one, the present one stays." : "The role must be allowed to create roles and schemas. The URL is encrypted and never shown."} placeholder="postgres://user:password@host:5432/database" autoComplete="new-password" value={url} onChange={(event) => setUrl(event.currentTarget.value)} required={!database} />
          <NumberInput label="Connections" description="That each instance opens for requests, 2 to 1,000." placeholder="10" min={2} max={1000} allowDecimal={false} value={connections} onChange={(value) => setConnections(value === "" ? "" : Number(value))} />
          {!database && <TextInput label="Tenant that brings it" description="It lives there when it is created, and no other does." placeholder="None" value={ownerTenantId} onChange={(event) => setOwner(event.currentTarget.value)} />}
          {!database && <Select label="Distribution" data={[{ value: "", label: "Over workers, if there are any" }, { value: "citus", label: "It must be the coordinator of a Citus cluster with workers" }]} value={distribution} onChange={(value) => setDistribution(value ?? "")} allowDeselect={false} />}
          {error && <ErrorView error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={register.isPending || update.isPending}>{database ? "Save" : "Register"}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
