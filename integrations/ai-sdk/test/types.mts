// Checked by the compiler.
import { agentTool, answerStream, graphTool, queryTool, ragdTools } from "@ragd/ai-sdk";
import { Ragd } from "@ragd/client";
import { createUIMessageStreamResponse, generateText, type LanguageModel, stepCountIs } from "ai";

export async function program(model: LanguageModel): Promise<Response> {
  const client = new Ragd({ url: "http://127.0.0.1:8484", apiKey: "key" });
  const index = client.index("docs");
  const tools = { search: queryTool(index, { topK: 3, filter: { team: "harbour" } }), graph: graphTool(index, { scope: "global" }), ask: agentTool(client, "pilot") };
  const { steps } = await generateText({ model, tools: { ...tools, ...(await ragdTools(client)) }, prompt: "when?", stopWhen: stepCountIs(3) });
  console.log(steps.length);
  const { toolResults } = await generateText({ model, tools, prompt: "when?" });
  for (const result of toolResults) {
    if (!result.dynamic && result.toolName === "search") console.log(result.output.passages[0]?.uri.length);
    if (!result.dynamic && result.toolName === "ask") console.log(result.output.citations.map(({ uri }) => uri));
  }
  // @ts-expect-error: no such option
  queryTool(index, { top: 3 });
  return createUIMessageStreamResponse({ stream: answerStream(client.ask("pilot", "when?")) });
}
