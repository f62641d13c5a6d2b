import { Anchor, Button, Select, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconArrowsExchange } from "@tabler/icons-react";
import { Link, useSearchParams } from "react-router";
import { EvaluateService, type Evaluation, type EvaluationComparison } from "@/gen/ragd/v1/evaluate_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { ago, plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Changes } from "./Changes";
import { Differences } from "./Differences";
import { runName, runPath, setPath } from "./words";
import classes from "./Evaluate.module.css";

const crumbs = [{ to: "/evaluate", label: "Evaluate" }];

/** Compare shows two runs side by side: the differences of their measures, and the questions that changed. */
export default function Compare() {
  const [parameters, setParameters] = useSearchParams();
  const baselineId = parameters.get("baseline") ?? "";
  const candidateId = parameters.get("candidate") ?? "";
  const measure = parameters.get("measure") ?? "";
  const baseline = useQuery(EvaluateService.method.getEvaluation, { evaluationId: baselineId }, { enabled: baselineId !== "" });
  const candidate = useQuery(EvaluateService.method.getEvaluation, { evaluationId: candidateId }, { enabled: candidateId !== "" });
  const comparison = useQuery(EvaluateService.method.compareEvaluations, { baselineId, candidateId, measure, limit: 100 }, { enabled: baselineId !== "" && candidateId !== "" });
  if (baselineId === "" || candidateId === "") return <Page title="Compare two runs" crumbs={crumbs}><Empty title="Choose two runs" action={<Button component={Link} to="/evaluate">Show the runs</Button>}>Mark two runs in the list, then compare them.</Empty></Page>;

  const set = candidate.data?.setName;
  const put = (part: Record<string, string>) => setParameters({ baseline: baselineId, candidate: candidateId, ...(measure && { measure }), ...part }, { replace: true });
  const swap = <Button variant="default" leftSection={<IconArrowsExchange size={16} />} onClick={() => put({ baseline: candidateId, candidate: baselineId })}>Swap</Button>;
  return (
    <Page title="Compare two runs" crumbs={set ? [...crumbs, { to: `${setPath(set)}?tab=runs`, label: set }] : crumbs} actions={swap} about="The runs are compared over the questions that both have. Positive differences mean that the candidate has higher values.">
      <div className={classes.pair}>
        <Side title="Baseline" run={baseline.data} />
        <Side title="Candidate" run={candidate.data} />
      </div>
      {comparison.isPending && <Stack gap="xs" aria-busy><Skeleton h={180} /><Skeleton h={180} /></Stack>}
      {comparison.isError && <ErrorView error={comparison.error} retry={() => void comparison.refetch()} />}
      {comparison.isSuccess && <Compared comparison={comparison.data} onMeasure={(name) => put({ measure: name })} />}
    </Page>
  );
}

function Side({ title, run }: { title: string; run?: Evaluation }) {
  return (
    <Panel title={title}>
      {run ? (
        <div>
          <Anchor component={Link} to={runPath(run.evaluationId)} fw={600} dir="auto">{runName(run)}</Anchor>
          <Text size="sm" c="dimmed">{run.indexName}, {run.createTime && ago(run.createTime)}, {plural(run.questionCount, "question")}</Text>
        </div>
      ) : <Skeleton h={40} />}
    </Panel>
  );
}

function Compared({ comparison, onMeasure }: { comparison: EvaluationComparison; onMeasure: (name: string) => void }) {
  const sortable = comparison.differences.filter((d) => d.signTest !== undefined && !/Ms$/.test(d.name)).map((d) => d.name);
  const choice = <Select aria-label="Sort by the measure" size="xs" w={190} data={sortable} value={comparison.measure} onChange={(name) => name && onMeasure(name)} allowDeselect={false} />;
  return (
    <>
      <Panel title="Measures">
        <Text size="sm" c="dimmed">{plural(comparison.questionCount, "question")} compared{comparison.leftOutCount > 0 && `, ${comparison.leftOutCount} left out: only one run has them, or they were changed between the runs`}.</Text>
        <Differences differences={comparison.differences} />
      </Panel>
      <Panel title="Questions that changed most" actions={choice}><Changes comparison={comparison} /></Panel>
    </>
  );
}
