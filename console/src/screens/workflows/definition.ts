import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, type Field } from "@/ui/form/fields";

/** workflowFields are the fields of a workflow's definition. */
export function workflowFields({ stored }: { stored: boolean }): Field[] {
  return [
    { path: "workflowName", label: "Name", kind: "text", about: "1 to 60 letters, digits, _ and -. Agents call run_NAME.", placeholder: "summary", required: true, fixed: stored },
    { path: "definition.description", label: "Description", kind: "long", about: "For models that choose the workflow as a tool.", required: true },
    { path: "definition.inputSchema", label: "Input schema", kind: "json", about: "JSON Schema of the input, an object.", placeholder: '{"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}' },
    { path: "definition.steps", label: "Steps", kind: "json", about: "One after the other; each has an id and a kind.", placeholder: '[{"id": "find", "kind": "query", "input": {"indexName": {"value": "docs"}, "queryText": {"initData": true, "path": "topic"}}}]', required: true },
    { path: "definition.output", label: "Output", kind: "json", about: "What makes the result. Default: the output of the last step.", placeholder: '{"first": {"step": "find", "path": "sources.0.document"}}' },
    { path: "definition.outputFrom", label: "Output, taken whole", kind: "json", minor: true },
    { path: "definition.outputSchema", label: "Output schema", kind: "json", minor: true },
    { path: "definition.title", label: "Title", kind: "text", minor: true },
  ];
}

/** Step is a step of a definition, with the steps within it by what leads to them. */
export interface Step {
  id: string;
  kind: string;
  /** What it calls or waits for. */
  about: string;
  inner: { label: string; steps: Step[] }[];
}

/** stepsOf returns the steps of a definition. What is malformed is left out. */
export function stepsOf(value: JsonValue | undefined): Step[] {
  return (Array.isArray(value) ? value : []).filter(isObject).map((step) => ({
    id: text(step.id), kind: text(step.kind), about: text(step.tool ?? step.agent ?? step.workflow ?? step.message), inner: innerOf(step),
  }));
}

function innerOf(step: JsonObject): Step["inner"] {
  const inner = (Array.isArray(step.branches) ? step.branches : []).filter(isObject).map((branch) => ({ label: branch.when === undefined ? text(branch.id) : `if ${text(branch.when)}`, steps: stepsOf(branch.steps) }));
  if (step.otherwise !== undefined) inner.push({ label: "otherwise", steps: stepsOf(step.otherwise) });
  if (step.kind === "foreach") inner.push({ label: "for each item", steps: stepsOf(step.steps) });
  if (step.onError !== undefined) inner.push({ label: "on an error", steps: stepsOf(step.onError) });
  return inner;
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
