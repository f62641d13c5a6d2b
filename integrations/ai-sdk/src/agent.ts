import type { Answer, AskOptions, JsonObject, Ragd } from "@ragd/client";
import { jsonSchema, type Tool, type UIMessageChunk } from "ai";

/** A passage that an answer cites. */
export interface Citation {
  number: number;
  uri: string;
  title: string;
  text: string;
  startByte: number;
  endByte: number;
}

/** AgentOutput is the answer of an agent. */
export interface AgentOutput {
  /** The answer; [1] cites the citation of that number. */
  text: string;
  citations: Citation[];
  /** The answer of an agent with an output schema. */
  object?: JsonObject;
}

/**
 * agentTool returns a tool with which a model asks an agent of ragd. While the agent writes, the tool
 * yields what it has written so far as preliminary results.
 */
export function agentTool(
  client: Ragd,
  agentName: string,
  options: Omit<AskOptions, "signal"> & { description?: string } = {},
): Tool<{ question: string }, AgentOutput> {
  const { description = "Asks an agent that answers from documents and cites them.", ...settings } = options;
  return {
    description,
    inputSchema: jsonSchema<{ question: string }>({
      type: "object",
      properties: { question: { type: "string", description: "The question, understandable by itself." } },
      required: ["question"],
      additionalProperties: false,
    }),
    async *execute({ question }, { abortSignal }) {
      const answer = client.ask(agentName, question, { ...settings, signal: abortSignal });
      let text = "";
      for await (const event of answer) {
        if (event.type === "step") text = ""; // that of a step that called tools is no part of the answer
        if (event.type !== "text") continue;
        text += event.text;
        yield { text, citations: [] };
      }
      yield outputOf(await answer.final());
    },
    toModelOutput: ({ output }) => ({
      type: "text",
      value: [output.text, ...output.citations.map(({ number, uri, text }) => `[${number}] ${uri}: ${text}`)].join("\n\n"),
    }),
  };
}

function outputOf({ text, citations, object }: Awaited<ReturnType<Answer["final"]>>): AgentOutput {
  return {
    text,
    citations: citations.map(({ number, uri, title, text, startByte, endByte }) => ({ number, uri, title, text, startByte, endByte })),
    ...(object && { object }),
  };
}

/**
 * answerStream returns an answer as the stream of a message for createUIMessageStreamResponse and
 * useChat: its steps, the calls of tools, the text as it is written, and the citations as sources.
 */
export function answerStream(answer: Answer): ReadableStream<UIMessageChunk> {
  const chunks = chunksOf(answer);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}

async function* chunksOf(answer: Answer): AsyncGenerator<UIMessageChunk> {
  let step = 0;
  let text = ""; // id of the part that is being written
  yield { type: "start" };
  try {
    for await (const event of answer) {
      if (text && event.type !== "text") {
        yield { type: "text-end", id: text };
        text = "";
      }
      switch (event.type) {
        case "step":
          if (step > 0) yield { type: "finish-step" };
          step = event.number;
          yield { type: "start-step" };
          break;
        case "toolCall":
          yield { type: "tool-input-available", toolCallId: `call-${event.call}`, toolName: event.toolName, input: event.arguments, providerExecuted: true, dynamic: true };
          break;
        case "toolResult": {
          const call = { toolCallId: `call-${event.call}`, providerExecuted: true, dynamic: true };
          yield event.error ? { type: "tool-output-error", errorText: event.error, ...call } : { type: "tool-output-available", output: null, ...call };
          break;
        }
        case "text":
          if (!text) {
            text = `text-${step}`;
            yield { type: "text-start", id: text };
          }
          yield { type: "text-delta", id: text, delta: event.text };
          break;
        case "answer":
          for (const { number, uri, title } of event.answer.citations) {
            yield { type: "source-document", sourceId: String(number), mediaType: "text/plain", title: title || uri, filename: uri };
          }
          if (step > 0) yield { type: "finish-step" };
          yield { type: "finish" };
      }
    }
  } catch (error) {
    if (text) yield { type: "text-end", id: text };
    yield { type: "error", errorText: error instanceof Error ? error.message : String(error) };
  }
}
