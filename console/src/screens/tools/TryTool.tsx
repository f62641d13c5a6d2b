import { Alert, Button, Group, Progress, Text } from "@mantine/core";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { useState, type FormEvent } from "react";
import { useSession } from "@/app/session";
import type { Tool } from "@/gen/ragd/v1/tool_pb";
import { ErrorView } from "@/ui/ErrorView";
import { explain } from "@/ui/explain";
import { millis } from "@/ui/format";
import { errorsOf, isObject, parseObject } from "@/ui/form/fields";
import { FormOrJson } from "@/ui/form/FormOrJson";
import { fieldsOf } from "@/ui/form/schema";
import { Panel } from "@/ui/Page";
import { useParameter } from "@/ui/useParameter";
import { Question } from "./Question";
import { Result } from "./Result";
import { useCall } from "./useCall";
import classes from "./Tools.module.css";

/** shared is the longest text of arguments that is kept in the page's address, in characters. */
const shared = 2000;

/** TryTool calls a tool with arguments from a form or JSON, and shows its progress and answer. */
export function TryTool({ tool, server }: { tool: Tool; server: string }) {
  const session = useSession();
  const [given, setGiven] = useParameter("arguments");
  const [value, setValue] = useState<JsonObject>(() => fromAddress(given));
  const [valid, setValid] = useState(true);
  const { state, call, stop } = useCall(tool.toolName, server);
  const denied = tool.writes && !session.canWrite;
  function submit(event: FormEvent) {
    event.preventDefault();
    const text = JSON.stringify(value);
    setGiven(text.length > shared || text === "{}" ? "" : text);
    void call(value);
  }
  const violations = state.error === undefined ? [] : explain(state.error).violations;
  const { progress, question } = state;
  return (
    <div className={classes.lists}>
      <Panel title="Arguments">
        <form onSubmit={submit} noValidate>
          <div className={classes.lists}>
            <FormOrJson label="Arguments" fields={fieldsOf(tool.inputSchema)} value={value} onChange={setValue} errors={errorsOf(violations, "arguments")} onValid={setValid} />
            {tool.writes && <Alert color="yellow" maw="52rem">{denied ? "A call changes what the tenant has stored, and needs a key with the scope write." : "A call changes what the tenant has stored."}</Alert>}
            <Group>
              <Button type="submit" loading={state.running} disabled={!valid || denied}>Call the tool</Button>
              {state.running && <Button variant="default" onClick={stop}>Stop</Button>}
              {state.took !== undefined && <Text size="sm" c="dimmed" role="status">Took {millis(state.took)}</Text>}
            </Group>
          </div>
        </form>
      </Panel>
      {progress && state.running && (
        <div className={classes.progress} role="status">
          <Text size="sm" dir="auto">{progress.message || "Working"}{progress.total > 0 && ` (${progress.done} of ${progress.total})`}</Text>
          <Progress value={progress.total > 0 ? (100 * progress.done) / progress.total : 100} animated={progress.total === 0} aria-label="Progress" />
        </div>
      )}
      {state.error !== undefined && !(explain(state.error).code === Code.Canceled) && <ErrorView error={state.error} />}
      {question && <Question key={JSON.stringify(question.schema)} question={question} onAnswer={(answers) => void call(value, answers)} busy={state.running} />}
      {state.response && !question && <Result response={state.response} tool={tool.toolName} given={value} server={server} />}
    </div>
  );
}

function fromAddress(text: string): JsonObject {
  try {
    const value = parseObject(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
