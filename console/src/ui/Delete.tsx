import { Button, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { Confirm } from "./Confirm";
import { notifyDone } from "./notify";
import { Panel } from "./Page";
import { useRemoval } from "./useRemoval";

interface Props {
  /** What is deleted, such as "the tool find_rule". */
  what: string;
  name: string;
  /** What follows from it. */
  children: ReactNode;
  /** The page that is shown afterwards. */
  to: string;
  onDelete: () => Promise<unknown>;
}

/** Delete is a panel that deletes what its page shows, after its name was typed. */
export function Delete({ what, name, children, to, onDelete }: Props) {
  const [asking, setAsking] = useState(false);
  const remove = useRemoval();
  async function confirm() {
    await remove(onDelete, to);
    notifyDone(`Deleted ${what}.`);
  }
  return (
    <Panel title="Delete">
      <Text size="sm" component="div">{children}</Text>
      <div><Button color="red" variant="outline" onClick={() => setAsking(true)}>Delete {what}</Button></div>
      <Confirm opened={asking} onClose={() => setAsking(false)} title={`Delete ${what}?`} action="Delete" type={name} onConfirm={confirm}>{children}</Confirm>
    </Panel>
  );
}
