import { Button, Modal, Tabs } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCode } from "@tabler/icons-react";
import { useSession } from "@/app/session";
import { Code } from "@/ui/Code";
import { copies } from "./copies";
import type { AskSettings } from "./settings";

/** CopyAs shows programs that ask the same question in the same way. */
export function CopyAs({ question, settings }: { question: string; settings: AskSettings }) {
  const { info } = useSession();
  const [opened, dialog] = useDisclosure(false);
  const all = copies(info.publicUrl || window.location.origin, question, settings);
  return (
    <>
      <Button size="xs" variant="default" leftSection={<IconCode size={14} />} onClick={dialog.open}>Copy as</Button>
      <Modal opened={opened} onClose={dialog.close} title="Ask the same from a program" size="lg">
        <Tabs defaultValue="curl" keepMounted={false}>
          <Tabs.List>{all.map((copy) => <Tabs.Tab key={copy.id} value={copy.id}>{copy.label}</Tabs.Tab>)}</Tabs.List>
          {all.map((copy) => <Tabs.Panel key={copy.id} value={copy.id} pt="sm"><Code text={copy.text} /></Tabs.Panel>)}
        </Tabs>
      </Modal>
    </>
  );
}
