import { Tabs } from "@mantine/core";
import { useNavigate, useParams } from "react-router";
import { useSession } from "@/app/session";
import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";
import { ContextKeys } from "./ContextKeys";
import { Endpoints } from "./Endpoints";
import { Issuers } from "./Issuers";
import { Keys } from "./Keys";
import { Secrets } from "./Secrets";

/** Access shows who may use the tenant, and the secrets and services that it uses itself. */
export default function Access() {
  const { tab = "keys" } = useParams();
  const navigate = useNavigate();
  const { isAdmin, tenant } = useSession();
  if (!tenant) return <Page title="Keys and access"><Empty title="Choose a tenant">Keys belong to a tenant: choose one above.</Empty></Page>;
  if (!isAdmin) return <Page title="Keys and access"><Empty title="Your key may not manage access">This needs the scope admin. Ask an administrator of {tenant} for a key.</Empty></Page>;
  return (
    <Page title="Keys and access" about="Who may use the tenant, and what it uses itself.">
      <Tabs value={tab} onChange={(next) => void navigate(next === "keys" ? "/keys" : `/keys/${next}`)} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="keys">API keys</Tabs.Tab>
          <Tabs.Tab value="secrets">Secrets</Tabs.Tab>
          <Tabs.Tab value="endpoints">Model endpoints</Tabs.Tab>
          <Tabs.Tab value="issuers">Authorization servers</Tabs.Tab>
          <Tabs.Tab value="context">Request context</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="keys"><Keys /></Tabs.Panel>
        <Tabs.Panel value="secrets"><Secrets /></Tabs.Panel>
        <Tabs.Panel value="endpoints"><Endpoints /></Tabs.Panel>
        <Tabs.Panel value="issuers"><Issuers /></Tabs.Panel>
        <Tabs.Panel value="context"><ContextKeys /></Tabs.Panel>
      </Tabs>
    </Page>
  );
}
