import { Status } from "@/ui/Status";
import type { Step } from "./definition";
import classes from "./Workflows.module.css";

/** Diagram draws steps below each other, and those of branches beside each other. status tells the state of a step of a run. */
export function Diagram({ steps, status }: { steps: Step[]; status?: (id: string) => string | undefined }) {
  return (
    <ol className={classes.steps}>
      {steps.map((step, i) => {
        const state = status?.(step.id);
        return (
          <li key={step.id || i} className={classes.stepItem}>
            <div className={classes.step} data-state={state}>
              <b dir="auto">{step.id}</b> <span className={classes.kind}>{step.kind}</span> {state && <Status value={state} />}
              {step.about && <div className={classes.about} dir="auto">{step.about}</div>}
            </div>
            {step.inner.length > 0 && (
              <div className={classes.branches}>
                {step.inner.map((branch, b) => (
                  <div key={b} className={classes.branch}>
                    <div className={classes.when} dir="auto">{branch.label}</div>
                    <Diagram steps={branch.steps} status={status} />
                  </div>
                ))}
              </div>
            )}
          </li>
        );
      })}
    </ol>
  );
}
