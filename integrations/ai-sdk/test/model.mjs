// A language model of the AI SDK that says what it is told, and remembers what it was shown.
import { MockLanguageModelV4 } from "ai/test";
import { simulateReadableStream } from "ai";

const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };

/** modelThat calls a tool with an input, and then says a text. */
export function modelThat(toolName, input, text = "Two hours before high water.") {
  const turns = [
    { content: [{ type: "tool-call", toolCallId: "call", toolName, input: JSON.stringify(input) }], finishReason: { unified: "tool-calls" } },
    { content: [{ type: "text", text }], finishReason: { unified: "stop" } },
  ];
  let turn = 0;
  return new MockLanguageModelV4({
    doGenerate: async () => ({ ...turns[turn++], usage, warnings: [] }),
    doStream: async () => {
      const { content, finishReason } = turns[turn++];
      const parts = content.flatMap((part) =>
        part.type === "text" ? [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: part.text }, { type: "text-end", id: "t" }] : [part],
      );
      return { stream: simulateReadableStream({ chunks: [...parts, { type: "finish", finishReason, usage }] }) };
    },
  });
}

/** shown returns what the model was shown as the result of its call. */
export function shown(model) {
  const calls = model.doGenerateCalls.length > 0 ? model.doGenerateCalls : model.doStreamCalls;
  return calls.at(-1).prompt.at(-1).content[0].output;
}
