import { Loader } from "@mantine/core";
import { ErrorView } from "@/ui/ErrorView";
import { Prose } from "@/ui/text/Prose";
import { AnswerView } from "./AnswerView";
import classes from "./Agents.module.css";
import type { Turn } from "./useAsk";

/** TurnView shows what has come of a question to an agent: its calls, and the answer while it grows. */
export function TurnView({ turn }: { turn: Turn }) {
  const waiting = !turn.answer && turn.error === undefined;
  return (
    <>
      {turn.calls.map((call) => (
        <details key={call.call} className={classes.call}>
          <summary>
            {call.toolName} {call.took === undefined ? "…" : `${call.took.toFixed(0)} ms`}{call.error && `: ${call.error}`}
          </summary>
          <pre>{JSON.stringify(call.arguments, null, 2)}</pre>
        </details>
      ))}
      {waiting && (turn.text ? <Prose text={turn.text} markdown /> : <Loader size="xs" type="dots" aria-label="Waiting for the agent" />)}
      {turn.answer && <AnswerView answer={turn.answer} />}
      {turn.error !== undefined && <ErrorView error={turn.error} />}
    </>
  );
}
