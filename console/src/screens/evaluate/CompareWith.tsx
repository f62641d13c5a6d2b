import { Select } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { useNavigate } from "react-router";
import { EvaluateService, type Evaluation } from "@/gen/ragd/v1/evaluate_pb";
import { ago } from "@/ui/format";
import { comparePath, runName } from "./words";

/** CompareWith opens a run beside another one of its set, which is the baseline. */
export function CompareWith({ run }: { run: Evaluation }) {
  const navigate = useNavigate();
  const runs = useQuery(EvaluateService.method.listEvaluations, { setName: run.setName, pageSize: 100 });
  const others = (runs.data?.evaluations ?? []).filter((other) => other.evaluationId !== run.evaluationId && other.measures.length > 0);
  if (others.length === 0) return null;
  return (
    <Select
      aria-label="Compare with" placeholder="Compare with" size="xs" w={260} searchable value={null} nothingFoundMessage="No such run"
      data={others.map((other) => ({ value: other.evaluationId, label: `${runName(other)}, ${other.createTime ? ago(other.createTime) : ""}` }))}
      onChange={(baseline) => baseline && void navigate(comparePath(baseline, run.evaluationId))}
    />
  );
}
