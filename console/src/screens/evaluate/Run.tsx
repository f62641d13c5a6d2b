import { Anchor, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useRef, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import { EvaluateService, type Evaluation } from "@/gen/ragd/v1/evaluate_pb";
import { Code } from "@/ui/Code";
import { Confirm } from "@/ui/Confirm";
import { ErrorView } from "@/ui/ErrorView";
import { Facts } from "@/ui/Facts";
import { count } from "@/ui/format";
import { JobProgress } from "@/ui/JobProgress";
import { notifyError } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import { useRemoval } from "@/ui/useRemoval";
import { CompareWith } from "./CompareWith";
import { Measures } from "./Measures";
import { pageSize, Results } from "./Results";
import { StartRun } from "./StartRun";
import { runName, setPath, settingsOf, settingsText } from "./words";

/** calm is the least time between two looks at the results of a run that is going on, in ms. */
const calm = 2000;

/** RunScreen shows a run: its progress, measures, settings, and the result of each question. */
export default function RunScreen() {
  const { run: evaluationId = "" } = useParams();
  const run = useQuery(EvaluateService.method.getEvaluation, { evaluationId });
  if (run.isSuccess) return <Loaded key={evaluationId} run={run.data} />;
  return (
    <Page title="Run" crumbs={[{ to: "/evaluate", label: "Evaluate" }]}>
      {run.isPending ? <Stack gap="xs" aria-busy><Skeleton h={160} /><Skeleton h={200} /></Stack> : <ErrorView error={run.error} retry={() => void run.refetch()} />}
    </Page>
  );
}

function Loaded({ run }: { run: Evaluation }) {
  const session = useSession();
  const [again, setAgain] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const removal = useRemoval();
  const crumbs = [{ to: "/evaluate", label: "Evaluate" }, { to: `${setPath(run.setName)}?tab=runs`, label: run.setName }];
  const remove = () => removal(() => createClient(EvaluateService, transport).deleteEvaluation({ evaluationId: run.evaluationId }), `${setPath(run.setName)}?tab=runs`);
  const actions = session.canWrite && (
    <>
      <Button variant="default" onClick={() => setAgain(true)}>Run again with changes</Button>
      <Button color="red" variant="outline" onClick={() => setDeleting(true)}>Delete</Button>
    </>
  );
  const ready = run.measures.length > 0;
  return (
    <Page title={runName(run)} crumbs={crumbs} actions={actions} about={<>{run.label && `${settingsText(run)}, `}started <Time value={run.createTime} /></>}>
      <Progress run={run} />
      {ready && <Panel title="Measures" actions={<CompareWith run={run} />}><Measures measures={run.measures} /></Panel>}
      <Panel title="Questions"><Results run={run} /></Panel>
      <Panel title="Settings"><Settings run={run} /></Panel>
      {again && <StartRun set={run} like={run} onClose={() => setAgain(false)} />}
      <Confirm opened={deleting} onClose={() => setDeleting(false)} title="Delete this run?" action="Delete" onConfirm={remove}>Its measures and results are deleted, and its job is cancelled if it is still running.</Confirm>
    </Page>
  );
}

function Progress({ run }: { run: Evaluation }) {
  const session = useSession();
  const navigate = useNavigate();
  const job = run.job;
  const changed = () => void refresh(EvaluateService);
  const last = useRef(Date.now());
  const advanced = () => {
    if (run.questionCount > pageSize || Date.now() - last.current < calm) return;
    last.current = Date.now();
    changed();
  };
  const cancel = useMutation(DocumentService.method.cancelJob, { onSuccess: changed, onError: notifyError });
  const retry = useMutation(DocumentService.method.retryJob, { onSuccess: changed, onError: notifyError });
  if (!job || job.status === "succeeded") return null;
  const live = job.status === "queued" || job.status === "running";
  return (
    <Panel title="Progress">
      <Group>
        {live ? <JobProgress key={job.jobId} jobId={job.jobId} onEnd={changed} onChange={advanced} /> : <Status value={job.status} />}
        {session.canWrite && live && <Button size="xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate({ jobId: job.jobId })}>Cancel</Button>}
        {session.canWrite && !live && <Button size="xs" variant="default" loading={retry.isPending} onClick={() => retry.mutate({ jobId: job.jobId })}>Continue the run</Button>}
        {session.canWrite && !live && <Button size="xs" variant="subtle" onClick={() => void navigate(setPath(run.setName))}>Show the questions</Button>}
      </Group>
      {!live && job.error && <Text size="sm" c="red" dir="auto">{job.error}</Text>}
    </Panel>
  );
}

function Settings({ run }: { run: Evaluation }) {
  const { kind, json } = settingsOf(run);
  const { usage } = run;
  return (
    <>
      <Facts
        facts={[
          ["Question set", <Anchor component={Link} to={setPath(run.setName)} size="sm">{run.setName}</Anchor>],
          ["Index", run.indexName],
          ["Questions", `${count(run.questionCount)}${run.unanswerableCount > 0 ? `, of which ${count(run.unanswerableCount)} unanswerable` : ""}`],
          ["Numbers looked at (k)", run.k.join(", ")],
          ["Least score", run.minScore],
          ["Turns and tool calls", usage && `${count(usage.steps)} and ${count(usage.toolCalls)}`],
          ["Tokens of the agent", usage && `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
          ["Cost", usage && usage.cost > 0 ? usage.cost.toPrecision(3) : undefined],
          ["Tokens of the judge", usage && usage.judgeCalls > 0 ? `${count(usage.judgeInputTokens)} in, ${count(usage.judgeOutputTokens)} out, ${count(usage.judgeCalls)} calls` : undefined],
        ]}
      />
      <Code text={`${kind} ${JSON.stringify(json, null, 2)}`} label="Copy the settings" />
    </>
  );
}
