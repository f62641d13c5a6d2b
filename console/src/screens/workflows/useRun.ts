import { createClient } from "@connectrpc/connect";
import { useEffect, useState } from "react";
import { transport } from "@/app/transport";
import { WorkflowService, type StepRun, type WorkflowRun } from "@/gen/ragd/v1/workflow_pb";

const workflows = createClient(WorkflowService, transport);

/** WatchedRun is a run as it is now. */
export interface WatchedRun {
  run?: WorkflowRun;
  /** In the order in which they began. */
  steps: StepRun[];
  error?: unknown;
}

/** useRun follows a run until it has ended or waits. A change of turn follows it again. */
export function useRun(runId: string, turn: number): WatchedRun {
  const [state, setState] = useState<WatchedRun>({ steps: [] });
  useEffect(() => {
    const stop = new AbortController();
    async function follow() {
      for await (const { event } of workflows.watchRun({ runId }, { signal: stop.signal })) {
        if (event.case === "run") {
          const run = event.value;
          setState({ run, steps: run.steps });
        } else if (event.case === "step") {
          const step = event.value;
          setState((old) => ({ ...old, steps: [...old.steps.filter((s) => s.path !== step.path), step] }));
        }
      }
      const run = await workflows.getRun({ runId }, { signal: stop.signal });
      setState({ run, steps: run.steps });
    }
    follow().catch((error: unknown) => {
      if (!stop.signal.aborted) setState((old) => ({ ...old, error }));
    });
    return () => stop.abort();
  }, [runId, turn]);
  return state;
}
