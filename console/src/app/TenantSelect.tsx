import { Badge, Select } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import { useSession } from "./session";

/** TenantSelect names the tenant that is shown. An operator chooses it. */
export function TenantSelect() {
  const session = useSession();
  if (!session.operator) return <Badge variant="light" tt="none" title="The tenant of your key">{session.tenant}</Badge>;
  return <Choice />;
}

function Choice() {
  const session = useSession();
  const [typed, setTyped] = useState("");
  const tenants = useQuery(TenantService.method.listTenants, { pageSize: 1000 });
  const names = (tenants.data?.tenants ?? []).map((tenant) => tenant.tenantId);
  return (
    <Select
      aria-label="Tenant" placeholder="Choose a tenant" size="xs" w={180} searchable clearable limit={50}
      data={names.includes(session.tenant) || session.tenant === "" ? names : [session.tenant, ...names]}
      value={session.tenant || null} onChange={(tenant) => session.choose(tenant ?? "")}
      searchValue={typed} onSearchChange={setTyped} nothingFoundMessage="No such tenant"
    />
  );
}
