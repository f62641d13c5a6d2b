import { Anchor, Button, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { refresh } from "@/app/queries";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { AgentService, CreateAgentRequestSchema, type Agent } from "@/gen/ragd/v1/agent_pb";
import { Empty } from "@/ui/Empty";
import { Definition } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useNames } from "@/ui/useNames";
import { agentFields } from "./definition";

const about = "Chat models that search, call tools and answer with citations.";

/** Agents lists the agents of the tenant, and creates them. */
export default function Agents() {
  return <OfTenant title="Agents"><List /></OfTenant>;
}

function List() {
  const mayChange = whyNotChange(useSession()) === "";
  const [parameters] = useSearchParams();
  const agents = useInfiniteQuery(AgentService.method.listAgents, { pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined });
  if (mayChange && parameters.has("create")) return <Page title="Create an agent" about={about} crumbs={[{ to: "/agents", label: "Agents" }]}><Panel><Create /></Panel></Page>;
  const create = mayChange && <Button component={Link} to="/agents?create" leftSection={<IconPlus size={16} />}>Create an agent</Button>;
  return (
    <Page title="Agents" about={about} actions={create}>
      <Loading query={agents}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.agents);
          if (rows.length === 0) return <Empty title="No agents yet" action={create}>An agent needs a chat model, at an endpoint of the operator or of your own.</Empty>;
          return <Panel><Table label="Agents" columns={columns} rows={rows} id={(agent) => agent.agentName} more={agents.hasNextPage ? () => void agents.fetchNextPage() : undefined} loading={agents.isFetchingNextPage} /></Panel>;
        }}
      </Loading>
    </Page>
  );
}

const columns: Column<Agent>[] = [
  { head: "Name", cell: (agent) => <Anchor component={Link} fw={600} to={`/agents/${encodeURIComponent(agent.agentName)}`}>{agent.agentName}</Anchor> },
  { head: "Description", cell: (agent) => <Text size="sm" dir="auto" lineClamp={2}>{String(agent.definition?.description ?? "")}</Text> },
  { head: "Model", cell: (agent) => <Text size="sm">{String(agent.definition?.model ?? "")}</Text> },
  { head: "Changed", cell: (agent) => <Time value={agent.updateTime} />, narrow: true },
];

function Create() {
  const { indexes, tools } = useNames();
  const navigate = useNavigate();
  const create = useMutation(AgentService.method.createAgent);
  return (
    <Definition
      schema={CreateAgentRequestSchema} fields={agentFields({ stored: false, indexes, tools })} value={{}} action="Create the agent"
      onSave={async (definition) => {
        const { agentName } = await create.mutateAsync(definition);
        void refresh(AgentService);
        await navigate(`/agents/${encodeURIComponent(agentName)}`);
      }}
    />
  );
}
