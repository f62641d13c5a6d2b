import { Button, Group, Text } from "@mantine/core";
import { IconCircleCheckFilled, IconCircleDashed } from "@tabler/icons-react";
import { Link } from "react-router";
import { Panel } from "@/ui/Page";
import classes from "./Home.module.css";
import type { Step } from "./useSteps";

/** Steps lists what to do first, until all of it is done. */
export function Steps({ steps, hide }: { steps: Step[]; hide: () => void }) {
  const next = steps.find(({ done }) => !done);
  const done = steps.filter((step) => step.done).length;
  return (
    <Panel title="First steps" actions={<Group gap="xs"><Text size="xs" c="dimmed">{done} of {steps.length} done</Text><Button size="compact-xs" variant="subtle" color="gray" onClick={hide}>Hide</Button></Group>}>
      <ol className={classes.steps}>
        {steps.map((step) => (
          <li key={step.title} data-done={step.done || undefined} data-next={step === next || undefined}>
            {step.done ? <IconCircleCheckFilled size={20} aria-label="Done" role="img" /> : <IconCircleDashed size={20} aria-label="To do" role="img" />}
            <div>
              <Link to={step.to} className={classes.step}>{step.title}</Link>
              <Text size="xs" c="dimmed">{step.about}</Text>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
