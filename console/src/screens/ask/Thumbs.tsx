import { ActionIcon, Button, Group, Tooltip } from "@mantine/core";
import { IconThumbDown, IconThumbDownFilled, IconThumbUp, IconThumbUpFilled, IconZoomQuestion } from "@tabler/icons-react";
import type { Source } from "@/gen/ragd/v1/query_pb";
import type { Judge, Unanswered } from "./judge";

/** Thumbs say of a result whether it answers the question. */
export function Thumbs({ judge, source, rank }: { judge: Judge; source: Source; rank: number }) {
  const verdict = judge.verdict(source.id);
  return (
    <Group gap={2} wrap="nowrap" role="group" aria-label={`Judge result ${rank}`}>
      <Tooltip label="It answers the question: save both for evaluations">
        <ActionIcon variant="subtle" color={verdict === "up" ? "tide" : "gray"} aria-pressed={verdict === "up"} aria-label="It answers the question" onClick={() => judge.say(source.id, "up")}>
          {verdict === "up" ? <IconThumbUpFilled size={16} /> : <IconThumbUp size={16} />}
        </ActionIcon>
      </Tooltip>
      <Tooltip label="It does not answer the question">
        <ActionIcon variant="subtle" color={verdict === "down" ? "red" : "gray"} aria-pressed={verdict === "down"} aria-label="It does not answer the question" onClick={() => judge.say(source.id, "down")}>
          {verdict === "down" ? <IconThumbDownFilled size={16} /> : <IconThumbDown size={16} />}
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

/** NoAnswer says that no document answers the question. */
export function NoAnswer({ unanswered }: { unanswered: Unanswered }) {
  return (
    <Tooltip label={unanswered.stored ? `Saved in ${unanswered.setName}: take it back` : `Save the question in ${unanswered.setName}, for evaluations`}>
      <Button size="xs" variant={unanswered.stored ? "light" : "default"} aria-pressed={unanswered.stored} leftSection={<IconZoomQuestion size={14} />} onClick={unanswered.toggle}>No document answers it</Button>
    </Tooltip>
  );
}
