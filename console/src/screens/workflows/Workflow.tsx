import { Stack, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useParams } from "react-router";
import { refresh } from "@/app/queries";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { CreateWorkflowRequestSchema, WorkflowService, type Workflow } from "@/gen/ragd/v1/workflow_pb";
import { Code } from "@/ui/Code";
import { Delete } from "@/ui/Delete";
import { Definition } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { useParameter } from "@/ui/useParameter";
import { stepsOf, workflowFields } from "./definition";
import { Diagram } from "./Diagram";
import { Runs } from "./Runs";
import { Start } from "./Start";

/** WorkflowScreen shows the steps of a workflow and its runs, starts it, and changes its definition. */
export default function WorkflowScreen() {
  const { workflow = "" } = useParams();
  return <OfTenant title={workflow}><Details key={workflow} name={workflow} /></OfTenant>;
}

function Details({ name }: { name: string }) {
  const [tab, setTab] = useParameter("tab", "start");
  const workflow = useQuery(WorkflowService.method.getWorkflow, { workflowName: name });
  return (
    <Page title={name} crumbs={[{ to: "/workflows", label: "Workflows" }]} about={workflow.data && `version ${workflow.data.version}`}>
      <Loading query={workflow}>
        {(workflow) => (
          <>
            <Text size="sm" maw="60rem" dir="auto">{String(workflow.definition?.description ?? "")}</Text>
            <Tabs value={tab} onChange={(next) => setTab(next ?? "start")} keepMounted={false}>
              <Tabs.List aria-label="Parts of the workflow" mb="md">
                <Tabs.Tab value="start">Start it</Tabs.Tab>
                <Tabs.Tab value="runs">Runs</Tabs.Tab>
                <Tabs.Tab value="definition">Definition</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="start">
                <Stack>
                  <Start workflow={workflow} />
                  <Panel title="Steps"><Diagram steps={stepsOf(workflow.definition?.steps)} /></Panel>
                </Stack>
              </Tabs.Panel>
              <Tabs.Panel value="runs"><Runs workflowName={name} /></Tabs.Panel>
              <Tabs.Panel value="definition"><Edit workflow={workflow} /></Tabs.Panel>
            </Tabs>
          </>
        )}
      </Loading>
    </Page>
  );
}

function Edit({ workflow: { workflowName, definition } }: { workflow: Workflow }) {
  const why = whyNotChange(useSession());
  const update = useMutation(WorkflowService.method.updateWorkflow);
  const remove = useMutation(WorkflowService.method.deleteWorkflow);
  if (why) return <Panel><Text size="sm" c="dimmed">{why}</Text><Code text={JSON.stringify(definition, null, 2)} /></Panel>;
  return (
    <Stack>
      <Panel>
        <Definition
          schema={CreateWorkflowRequestSchema} fields={workflowFields({ stored: true })} value={{ workflowName, definition: definition ?? {} }} action="Save" stored
          onSave={async (changed) => {
            const { version } = await update.mutateAsync({ workflowName, definition: changed.definition });
            await refresh(WorkflowService);
            notifyDone(`Saved as version ${version}. Runs go on with the version that they began with.`);
          }}
        />
      </Panel>
      <Delete what={`the workflow ${workflowName}`} name={workflowName} to="/workflows" onDelete={() => remove.mutateAsync({ workflowName })}>
        Agents, servers and workflows that name it find it no longer.
      </Delete>
    </Stack>
  );
}
