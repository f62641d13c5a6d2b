import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { ErrorView } from "./ErrorView";

interface Props {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** What will happen. */
  children: ReactNode;
  /** The label of the button, such as "Delete". */
  action: string;
  /** A name that must be typed first, for what cannot be undone. */
  type?: string;
  onConfirm: () => Promise<unknown>;
}

/** Confirm asks before something is done that cannot be undone, and shows why it failed. */
export function Confirm({ opened, onClose, title, children, action, type, onConfirm }: Props) {
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  function close() {
    if (!busy) end(); // else it would end while it runs, and could be opened for something else
  }
  function end() {
    setTyped("");
    setError(undefined);
    onClose();
  }
  async function confirm() {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      end();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={title} centered>
      <Stack>
        <Text component="div" size="sm">{children}</Text>
        {type && <TextInput label={`Type ${type} to confirm`} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />}
        {error !== undefined && <ErrorView error={error} />}
        <Group justify="flex-end">
          <Button variant="default" disabled={busy} onClick={close}>Cancel</Button>
          <Button color="red" loading={busy} disabled={type !== undefined && typed !== type} onClick={() => void confirm()}>{action}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
