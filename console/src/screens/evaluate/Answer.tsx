import { Alert, Text } from "@mantine/core";
import type { QuestionAnswer } from "@/gen/ragd/v1/evaluate_pb";
import { plural } from "@/ui/format";
import { Prose } from "@/ui/text/Prose";

/** Answer shows the answer of an agent to a question of a run, and what the judge says of it. */
export function Answer({ answer }: { answer: QuestionAnswer }) {
  const { verdict, usage } = answer;
  return (
    <>
      {answer.error && <Alert color="red" title="No answer">{answer.error}</Alert>}
      {answer.text && <Prose text={answer.text} markdown />}
      {answer.declined === true && <Text size="sm" c="dimmed">The agent said that it does not know.</Text>}
      {verdict && (
        <Text size="sm" dir="auto">
          <b>Judge: </b>
          {verdict.error || [verdict.correctness !== undefined && `correctness ${verdict.correctness.toFixed(2)}`, verdict.faithfulness !== undefined && `faithfulness ${verdict.faithfulness.toFixed(2)}`].filter(Boolean).join(", ")}
          {verdict.reason && `. ${verdict.reason}`}
        </Text>
      )}
      {usage && <Text size="xs" c="dimmed">{plural(usage.steps, "turn")}, {plural(usage.toolCalls, "tool call")}, {plural(usage.inputTokens + usage.outputTokens, "token")}</Text>}
    </>
  );
}
