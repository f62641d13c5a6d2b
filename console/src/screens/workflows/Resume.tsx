import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { ResumeRunRequestSchema, WorkflowService, type StepRun } from "@/gen/ragd/v1/workflow_pb";
import { ErrorView } from "@/ui/ErrorView";
import { explain } from "@/ui/explain";
import { errorsOf } from "@/ui/form/fields";
import { FormOrJson } from "@/ui/form/FormOrJson";
import { fieldsOf } from "@/ui/form/schema";
import { Time } from "@/ui/Time";

/** Resume asks for the data that a step waits for, and lets the run go on. */
export function Resume({ runId, step, onDone }: { runId: string; step: StepRun; onDone: () => void }) {
  const [data, setData] = useState<JsonObject>({});
  const [valid, setValid] = useState(true);
  const resume = useMutation(WorkflowService.method.resumeRun);
  function submit(event: FormEvent) {
    event.preventDefault();
    const request = fromJson(ResumeRunRequestSchema, { runId, stepPath: step.path, data: data as JsonValue });
    resume.mutate(request as MessageInitShape<typeof ResumeRunRequestSchema>, { onSuccess: onDone });
  }
  return (
    <Alert color="yellow" title={`The step ${step.path} waits for you`}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text size="sm" dir="auto">{step.message}</Text>
          <FormOrJson label="Answer" fields={fieldsOf(step.schema)} value={data} onChange={setData} errors={errorsOf(resume.error ? explain(resume.error).violations : [], "data")} onValid={setValid} />
          {resume.isError && <ErrorView error={resume.error} />}
          <Group><Button type="submit" loading={resume.isPending} disabled={!valid}>Resume</Button>{step.waitUntilTime && <Text size="xs">The wait ends <Time value={step.waitUntilTime} />.</Text>}</Group>
        </Stack>
      </form>
    </Alert>
  );
}
