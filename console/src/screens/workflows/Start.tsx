import { Button, Group, Stack } from "@mantine/core";
import type { JsonObject } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { refresh } from "@/app/queries";
import { WorkflowService, type Workflow } from "@/gen/ragd/v1/workflow_pb";
import { ErrorView } from "@/ui/ErrorView";
import { explain } from "@/ui/explain";
import { errorsOf, isObject } from "@/ui/form/fields";
import { FormOrJson } from "@/ui/form/FormOrJson";
import { fieldsOf } from "@/ui/form/schema";
import { Panel } from "@/ui/Page";

/** Start starts a run of a workflow with an input, and opens it. */
export function Start({ workflow: { workflowName, definition } }: { workflow: Workflow }) {
  const [input, setInput] = useState<JsonObject>({});
  const [valid, setValid] = useState(true);
  const navigate = useNavigate();
  const start = useMutation(WorkflowService.method.startWorkflow);
  const schema = isObject(definition?.inputSchema) ? definition.inputSchema : undefined;
  function submit(event: FormEvent) {
    event.preventDefault();
    start.mutate({ workflowName, input }, {
      onSuccess: ({ runId }) => {
        void refresh(WorkflowService);
        void navigate(`/workflows/${encodeURIComponent(workflowName)}/runs/${runId}`);
      },
    });
  }
  return (
    <Panel title="Input">
      <form onSubmit={submit} noValidate>
        <Stack>
          <FormOrJson label="Input" fields={fieldsOf(schema)} value={input} onChange={setInput} errors={errorsOf(start.error ? explain(start.error).violations : [], "input")} onValid={setValid} />
          {start.isError && <ErrorView error={start.error} />}
          <Group><Button type="submit" loading={start.isPending} disabled={!valid}>Start</Button></Group>
        </Stack>
      </form>
    </Panel>
  );
}
