import { Anchor, Button, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { refresh } from "@/app/queries";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { CreateWorkflowRequestSchema, WorkflowService, type Workflow } from "@/gen/ragd/v1/workflow_pb";
import { Empty } from "@/ui/Empty";
import { Definition } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { workflowFields } from "./definition";

const about = "Steps that call tools, agents and services, with conditions, approvals and retries.";

/** Workflows lists the workflows of the tenant, and creates them. */
export default function Workflows() {
  return <OfTenant title="Workflows"><List /></OfTenant>;
}

function List() {
  const mayChange = whyNotChange(useSession()) === "";
  const [parameters] = useSearchParams();
  const workflows = useInfiniteQuery(WorkflowService.method.listWorkflows, { pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined });
  if (mayChange && parameters.has("create")) return <Page title="Create a workflow" about={about} crumbs={[{ to: "/workflows", label: "Workflows" }]}><Panel><Create /></Panel></Page>;
  const create = mayChange && <Button component={Link} to="/workflows?create" leftSection={<IconPlus size={16} />}>Create a workflow</Button>;
  return (
    <Page title="Workflows" about={about} actions={create}>
      <Loading query={workflows}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.workflows);
          if (rows.length === 0) return <Empty title="No workflows yet" action={create}>A workflow can be started here, by a program, or by an agent as a tool.</Empty>;
          return <Panel><Table label="Workflows" columns={columns} rows={rows} id={(workflow) => workflow.workflowName} more={workflows.hasNextPage ? () => void workflows.fetchNextPage() : undefined} loading={workflows.isFetchingNextPage} /></Panel>;
        }}
      </Loading>
    </Page>
  );
}

const columns: Column<Workflow>[] = [
  { head: "Name", cell: (workflow) => <Anchor component={Link} fw={600} to={`/workflows/${encodeURIComponent(workflow.workflowName)}`}>{workflow.workflowName}</Anchor> },
  { head: "Description", cell: (workflow) => <Text size="sm" dir="auto" lineClamp={2}>{String(workflow.definition?.description ?? "")}</Text> },
  { head: "Version", cell: (workflow) => workflow.version, numeric: true, narrow: true },
  { head: "Changed", cell: (workflow) => <Time value={workflow.createTime} />, narrow: true },
];

function Create() {
  const navigate = useNavigate();
  const create = useMutation(WorkflowService.method.createWorkflow);
  return (
    <Definition
      schema={CreateWorkflowRequestSchema} fields={workflowFields({ stored: false })} value={{}} action="Create the workflow"
      onSave={async (definition) => {
        const { workflowName } = await create.mutateAsync(definition);
        void refresh(WorkflowService);
        await navigate(`/workflows/${encodeURIComponent(workflowName)}`);
      }}
    />
  );
}
