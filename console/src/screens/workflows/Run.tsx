import { Alert, Button, Group, Skeleton, Text } from "@mantine/core";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { useParams } from "react-router";
import { refresh } from "@/app/queries";
import { WorkflowService, type StepRun, type WorkflowRun } from "@/gen/ragd/v1/workflow_pb";
import { ErrorView } from "@/ui/ErrorView";
import { Facts } from "@/ui/Facts";
import { millis } from "@/ui/format";
import { Json } from "@/ui/Json";
import { notifyError } from "@/ui/notify";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import { stepsOf } from "./definition";
import { Diagram } from "./Diagram";
import { Resume } from "./Resume";
import { useRun } from "./useRun";
import classes from "./Workflows.module.css";

const open = ["queued", "running", "waiting"];

/** Run shows a run of a workflow while it goes on: its steps, what went in and came out, and what it waits for. */
export default function Run() {
  const { workflow = "", run = "" } = useParams();
  return <OfTenant title={run}><Details key={run} name={workflow} runId={run} /></OfTenant>;
}

function Details({ name, runId }: { name: string; runId: string }) {
  const [turn, setTurn] = useState(0);
  const { run, steps, error } = useRun(runId, turn);
  const cancel = useMutation(WorkflowService.method.cancelRun);
  const again = () => {
    setTurn(turn + 1);
    void refresh(WorkflowService);
  };
  const here = `/workflows/${encodeURIComponent(name)}`;
  const crumbs = [{ to: "/workflows", label: "Workflows" }, { to: here, label: name }, { to: `${here}?tab=runs`, label: "Runs" }];
  const actions = run && open.includes(run.status) && (
    <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate({ runId }, { onSuccess: again, onError: notifyError })}>Cancel the run</Button>
  );
  return (
    <Page title={`Run ${runId.slice(0, 8)}`} crumbs={crumbs} about={run && <Status value={run.status} />} actions={actions}>
      {error !== undefined && <ErrorView error={error} retry={again} />}
      {!run && error === undefined && <Skeleton h={160} />}
      {run && (
        <>
          {run.error && <Alert color="red" title={`The run ${run.status === "cancelled" ? "was cancelled" : "has failed"}`}><Text size="sm" dir="auto">{run.error}</Text></Alert>}
          {steps.filter((step) => step.status === "waiting").map((step) => <Resume key={step.path} runId={runId} step={step} onDone={again} />)}
          <Overview run={run} steps={steps} />
          <Panel title="Steps">{steps.map((step) => <StepView key={step.path} step={step} />)}{steps.length === 0 && <Text size="sm" c="dimmed">None has begun.</Text>}</Panel>
        </>
      )}
    </Page>
  );
}

function Overview({ run, steps }: { run: WorkflowRun; steps: StepRun[] }) {
  const workflow = useQuery(WorkflowService.method.getWorkflow, { workflowName: run.workflowName, version: run.version }, { retry: false });
  // Several runs of a step, such as those of items, are shown by the last one.
  const status = (id: string) => steps.findLast((step) => step.path.split(".").at(-1) === id)?.status;
  return (
    <>
      <Panel title="Run">
        <Facts facts={[["Version", String(run.version)], ["Started by", run.subject], ["Started", <Time value={run.startTime ?? run.createTime} />], ["Ended", run.endTime && <Time value={run.endTime} />], ["Took", took(run.startTime, run.endTime)]]} />
        {run.input && <Json label="Input" value={run.input} />}
        {run.output !== undefined && <Json label="Output" value={run.output} />}
      </Panel>
      {workflow.data && <Panel title="Diagram"><Diagram steps={stepsOf(workflow.data.definition?.steps)} status={status} /></Panel>}
    </>
  );
}

function StepView({ step }: { step: StepRun }) {
  return (
    <details className={classes.run}>
      <summary>
        <Group gap="xs" component="span" display="inline-flex">
          <b dir="auto">{step.path}</b> <span className={classes.kind}>{step.kind}</span> <Status value={step.status} />
          <Text span size="xs" c="dimmed">{took(step.startTime, step.endTime)}{step.attempts > 1 && `, ${step.attempts} attempts`}</Text>
        </Group>
      </summary>
      {step.error && <Text size="sm" c="red" dir="auto">{step.error}</Text>}
      {step.input !== undefined && <Json label="Input" value={step.input} />}
      {step.output !== undefined && <Json label="Output" value={step.output} />}
    </details>
  );
}

function took(start: WorkflowRun["startTime"], end: WorkflowRun["endTime"]): string {
  return start && end ? millis(timestampDate(end).getTime() - timestampDate(start).getTime()) : "";
}
