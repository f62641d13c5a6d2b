import { ActionIcon, Autocomplete, Button, Group, Popover, Stack, Text, Tooltip } from "@mantine/core";
import { IconBookmark, IconThumbDown, IconThumbDownFilled, IconThumbUp, IconThumbUpFilled } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import type { Source } from "@/gen/ragd/v1/query_pb";
import type { Judge } from "./judge";

/** Thumbs say of a result whether it answers the question. */
export function Thumbs({ judge, source, rank }: { judge: Judge; source: Source; rank: number }) {
  const verdict = judge.verdict(source);
  return (
    <Group gap={2} wrap="nowrap" role="group" aria-label={`Judge result ${rank}`}>
      <Tooltip label={`It answers the question: save both in ${judge.setName}`}>
        <ActionIcon variant="subtle" color={verdict === "up" ? "tide" : "gray"} disabled={!source.uri} aria-pressed={verdict === "up"} aria-label="It answers the question" onClick={() => judge.say(source, "up")}>
          {verdict === "up" ? <IconThumbUpFilled size={16} /> : <IconThumbUp size={16} />}
        </ActionIcon>
      </Tooltip>
      <Tooltip label="It does not answer the question: noted in this browser">
        <ActionIcon variant="subtle" color={verdict === "down" ? "red" : "gray"} disabled={!source.uri} aria-pressed={verdict === "down"} aria-label="It does not answer the question" onClick={() => judge.say(source, "down")}>
          {verdict === "down" ? <IconThumbDownFilled size={16} /> : <IconThumbDown size={16} />}
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

/** SetOfJudgements chooses the question set that judgements go to, and says that nothing answers the question. */
export function SetOfJudgements({ judge }: { judge: Judge }) {
  const [name, setName] = useState(judge.setName);
  const [opened, setOpened] = useState(false);
  const open = () => {
    setName(judge.setName);
    setOpened(!opened);
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus withArrow>
      <Popover.Target><Button size="xs" variant="default" leftSection={<IconBookmark size={14} />} onClick={open}>Judgements</Button></Popover.Target>
      <Popover.Dropdown w="min(22rem, 92vw)" aria-label="Judgements">
        <Stack gap="sm">
          <Text size="sm">A thumb saves the question, with the passages that answer it, in a question set for <Link to="/evaluate">evaluations</Link>.</Text>
          <Button size="xs" variant="default" aria-pressed={judge.unanswerable} disabled={judge.unanswerable} onClick={judge.sayUnanswerable}>{judge.unanswerable ? "Saved: no document answers it" : "No document answers the question"}</Button>
          <Autocomplete size="xs" label="Question set" description="A new name makes a new set." data={judge.setNames} value={name} onChange={setName} onBlur={() => name.trim() && judge.chooseSet(name.trim())} comboboxProps={{ withinPortal: false }} openOnFocus={false} />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
