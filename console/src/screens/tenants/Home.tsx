import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { refresh } from "@/app/queries";
import { DatabaseService } from "@/gen/ragd/v1/database_pb";
import { TenantService, type Tenant } from "@/gen/ragd/v1/tenant_pb";
import { Confirm } from "@/ui/Confirm";
import { Loading } from "@/ui/Loading";
import { MoveList } from "../databases/MoveList";

/** Home shows the database in which a tenant lives, and moves it to another one. */
export function Home({ tenant: { tenantId, database } }: { tenant: Tenant }) {
  const [to, setTo] = useState("");
  const [asking, setAsking] = useState(false);
  const databases = useQuery(DatabaseService.method.listDatabases, {});
  const move = useMutation(TenantService.method.moveTenant);
  return (
    <Stack gap="sm">
      <Text size="sm">It lives in the database <b>{database}</b>.</Text>
      <Loading query={databases}>
        {({ databases }) => {
          const others = databases.filter(({ databaseName, ownerTenantId }) => databaseName !== database && (ownerTenantId === "" || ownerTenantId === tenantId)).map(({ databaseName }) => databaseName);
          if (others.length === 0) return <Text size="sm" c="dimmed">There is no other database to which it could be moved. <Link to="/databases">Databases</Link></Text>;
          return (
            <Group align="flex-end" gap="sm">
              <Select label="Move it to" placeholder="Choose a database" data={others} value={to || null} onChange={(next) => setTo(next ?? "")} w={220} />
              <Button variant="default" disabled={to === ""} onClick={() => setAsking(true)}>Move</Button>
            </Group>
          );
        }}
      </Loading>
      <MoveList tenantId={tenantId} onSwitched={(now) => now !== database && void refresh(TenantService)} />
      <Confirm opened={asking} onClose={() => setAsking(false)} title={`Move ${tenantId} to ${to}?`} action="Move" onConfirm={async () => {
        await move.mutateAsync({ tenantId, databaseName: to });
        setTo("");
        await refresh(TenantService);
      }}>
        The tenant is copied while it is served; its writes are refused for a moment at the end. The old copy is dropped later.
      </Confirm>
    </Stack>
  );
}
