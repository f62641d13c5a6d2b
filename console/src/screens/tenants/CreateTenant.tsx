import { Button, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { refresh } from "@/app/queries";
import { DatabaseService } from "@/gen/ragd/v1/database_pb";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import { ErrorView } from "@/ui/ErrorView";

/** CreateTenant asks for the id of a new tenant, and opens it. */
export function CreateTenant({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [tenantId, setTenantId] = useState("");
  const [displayName, setDisplayName] = useState("");
  const [database, setDatabase] = useState("");
  const databases = useQuery(DatabaseService.method.listDatabases, {}, { enabled: opened, retry: false });
  const names = databases.data?.databases.map(({ databaseName }) => databaseName) ?? [];
  const navigate = useNavigate();
  const create = useMutation(TenantService.method.createTenant, {
    onSuccess: (tenant) => {
      void refresh(TenantService);
      void navigate(`/tenants/${encodeURIComponent(tenant.tenantId)}`);
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate({ tenantId, displayName, database });
  }
  return (
    <Modal opened={opened} onClose={onClose} title="Create a tenant">
      <form onSubmit={submit}>
        <Stack>
          <TextInput label="Id" description="1 to 40 lower-case letters, digits and hyphens, the first a letter. It cannot be changed later." placeholder="acme" value={tenantId} onChange={(event) => setTenantId(event.currentTarget.value)} required data-autofocus />
          <TextInput label="Display name" placeholder="Acme Ltd" value={displayName} onChange={(event) => setDisplayName(event.currentTarget.value)} />
          {names.length > 1 && <Select label="Database" description="It can be moved later." placeholder="Its own, else the smallest" data={names} value={database || null} onChange={(next) => setDatabase(next ?? "")} clearable />}
          {create.isError && <ErrorView error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={create.isPending}>Create</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
