import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Code } from "./Code";

interface Props {
  title: string;
  /** The secret; the dialog is open while there is one. */
  secret: string;
  onClose: () => void;
  /** What to do with it. */
  children: ReactNode;
}

/** Secret shows a secret once, to be copied. Only its button closes it, so that it is not lost by a click beside it. */
export function Secret({ title, secret, onClose, children }: Props) {
  return (
    <Modal opened={secret !== ""} onClose={onClose} title={title} size="lg" centered closeOnClickOutside={false} closeOnEscape={false} withCloseButton={false}>
      <Stack>
        <Alert color="yellow" icon={<IconKey />} title="It is shown only now">Copy it and keep it in a safe place. It cannot be read again.</Alert>
        <Code text={secret} label="Copy the secret" />
        <Text size="sm" component="div">{children}</Text>
        <Group justify="flex-end"><Button onClick={onClose} data-autofocus>I have copied it</Button></Group>
      </Stack>
    </Modal>
  );
}
