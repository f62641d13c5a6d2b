import { Button, Group, Stack, Text } from "@mantine/core";
import type { JsonObject } from "@bufbuild/protobuf";
import { useState, type FormEvent } from "react";
import type { ToolQuestion } from "@/gen/ragd/v1/tool_pb";
import { Form } from "@/ui/form/Form";
import { fieldsOf, standards } from "@/ui/form/schema";
import { Panel } from "@/ui/Page";

interface Props {
  question: ToolQuestion;
  /** Is given an empty object if the user declines. */
  onAnswer: (answers: JsonObject) => void;
  busy: boolean;
}

/** Question asks the user what a tool wants to know before it answers. */
export function Question({ question, onAnswer, busy }: Props) {
  const [value, setValue] = useState<JsonObject>(() => standards(question.schema));
  function submit(event: FormEvent) {
    event.preventDefault();
    onAnswer(value);
  }
  return (
    <Panel title="The tool asks">
      <form onSubmit={submit}>
        <Stack maw="52rem">
          <Text size="sm" dir="auto">{question.message}</Text>
          <Form fields={fieldsOf(question.schema)} value={value} onChange={setValue} />
          <Group>
            <Button type="submit" loading={busy}>Answer</Button>
            <Button variant="default" disabled={busy} onClick={() => onAnswer({})}>Decline</Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}
