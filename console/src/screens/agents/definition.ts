import type { Field } from "@/ui/form/fields";

/** agentFields are the fields of an agent's definition. What they do not show is changed as JSON. */
export function agentFields({ stored, indexes, tools }: { stored: boolean; indexes: string[]; tools: string[] }): Field[] {
  return [
    { path: "agentName", label: "Name", kind: "text", about: "1 to 60 letters, digits, _ and -. MCP clients call ask_NAME.", placeholder: "helper", required: true, fixed: stored },
    { path: "definition.description", label: "Description", kind: "long", about: "For those who choose an agent: what it answers.", required: true },
    { path: "definition.model", label: "Model", kind: "text", about: "endpoint/model of a chat model.", placeholder: "openai/gpt-5-mini", required: true },
    { path: "definition.instructions", label: "Instructions", kind: "long", about: "Default: answer from the passages alone, with citations." },
    { path: "definition.indexes", label: "Indexes", kind: "names", choices: indexes, about: "What its calls may search. Default: all that the caller may." },
    { path: "definition.tools", label: "Tools", kind: "names", choices: tools, about: "Default: the tools that search and read." },
    { path: "definition.mayWrite", label: "Tools that may change something", kind: "names", choices: tools, minor: true },
    { path: "definition.title", label: "Title", kind: "text", minor: true },
    { path: "definition.limits", label: "Limits", kind: "json", about: "steps, tokens, seconds and cost of an answer.", placeholder: '{"steps": 8, "seconds": 120}', minor: true },
    { path: "definition.prices", label: "Prices", kind: "json", about: "What a million tokens cost.", placeholder: '{"input": 0.25, "output": 2}', minor: true },
    { path: "definition.sampling", label: "Sampling", kind: "json", placeholder: '{"temperature": 0}', minor: true },
    { path: "definition.outputSchema", label: "Output schema", kind: "json", about: "JSON Schema of the answer.", minor: true },
    { path: "definition.rules", label: "Rules", kind: "json", about: "Instructions, model and tools by conditions over the request.", minor: true },
  ];
}
