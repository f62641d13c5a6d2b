import { Badge, Button, Stack, Text } from "@mantine/core";
import { toJson, type JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { transport } from "@/app/transport";
import { PromptMessageSchema, PromptService, type Prompt, type PromptMessage } from "@/gen/ragd/v1/prompt_pb";
import { Code } from "@/ui/Code";
import { ErrorView } from "@/ui/ErrorView";
import { explain } from "@/ui/explain";
import { errorsOf, type Field } from "@/ui/form/fields";
import { Form } from "@/ui/form/Form";
import { Panel } from "@/ui/Page";
import classes from "./Prompts.module.css";

/** TryPrompt fills in the arguments of a prompt, and shows the messages that a client gets. */
export function TryPrompt({ prompt }: { prompt: Prompt }) {
  const [value, setValue] = useState<JsonObject>({});
  const render = useMutation({
    mutationFn: () => createClient(PromptService, transport).getPromptMessages({ promptName: prompt.promptName, version: String(prompt.version), arguments: value as Record<string, string> }),
  });
  const fields = prompt.arguments.map((a): Field => ({ path: a.name, label: a.title || a.name, about: a.description, kind: "long", required: a.required }));
  function submit(event: FormEvent) {
    event.preventDefault();
    render.mutate();
  }
  return (
    <Stack>
      <Panel title="Arguments">
        <form onSubmit={submit} noValidate>
          <Stack maw="52rem">
            {fields.length > 0 ? <Form fields={fields} value={value} onChange={setValue} errors={errorsOf(render.isError ? explain(render.error).violations : [])} /> : <Text size="sm" c="dimmed">The prompt has no arguments.</Text>}
            <div><Button type="submit" loading={render.isPending}>Show the messages</Button></div>
          </Stack>
        </form>
      </Panel>
      {render.isError && <ErrorView error={render.error} />}
      {render.data && (
        <Panel title="Messages">
          <ol className={classes.messages}>
            {render.data.messages.map((message, i) => (
              <li key={i} className={classes.message}>
                <Badge variant="light" radius="sm" tt="none" color={message.role === "assistant" ? "tide" : "gray"}>{message.role}</Badge>
                <Content message={message} />
              </li>
            ))}
          </ol>
        </Panel>
      )}
    </Stack>
  );
}

function Content({ message }: { message: PromptMessage }) {
  const { content, resourceContent } = message;
  if (content.case === "text") return <Text className={classes.text} dir="auto">{content.value}</Text>;
  if (content.case === "resource" || content.case === "resourceLink") {
    return (
      <>
        <Text size="sm" c="dimmed" className={classes.text}>{content.value.uri}</Text>
        {resourceContent.map((part, i) => (part.content.case === "text" ? <Text key={i} className={classes.text} dir="auto" tabIndex={0}>{part.content.value}</Text> : <Text key={i} size="sm" c="dimmed">{part.mimeType}, {part.content.value?.length ?? 0} bytes</Text>))}
      </>
    );
  }
  return <Code text={JSON.stringify(toJson(PromptMessageSchema, message), null, 2)} />;
}
