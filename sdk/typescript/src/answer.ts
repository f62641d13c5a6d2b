import type { JsonObject } from "@bufbuild/protobuf";
import { RagdError } from "./errors.js";
import type { AskAgentEvent, AskAgentResponse } from "./gen/ragd/v1/agent_pb.js";
import type { CallOptions } from "./transport.js";

/** Settings of a question to an agent. */
export interface AskOptions extends CallOptions {
  /** Continues the caller's conversation of this id, or begins it. */
  threadId?: string;
}

/** AnswerEvent is something that happens while an agent answers. */
export type AnswerEvent =
  /** A turn of the model begins. */
  | { type: "step"; number: number; model: string }
  | { type: "toolCall"; step: number; call: number; toolName: string; arguments: JsonObject }
  /** A tool has answered, with an error if that is not empty. */
  | { type: "toolResult"; step: number; call: number; toolName: string; error: string }
  /** A piece of the text of the current step. The text of a step that calls tools is no part of the answer. */
  | { type: "text"; text: string }
  /** The whole answer, with its citations: the last event. */
  | { type: "answer"; answer: AskAgentResponse };

/**
 * Answer is the answer of an agent while it is being written. It is asked for when its events or its
 * final form are first wanted, and once only.
 */
export class Answer implements AsyncIterable<AnswerEvent> {
  readonly #ask: () => AsyncIterable<AskAgentEvent>;
  #events: AsyncGenerator<AnswerEvent> | undefined;
  #final: AskAgentResponse | undefined;

  constructor(ask: () => AsyncIterable<AskAgentEvent>) {
    this.#ask = ask;
  }

  /** The events in their order. They can be read once. */
  [Symbol.asyncIterator](): AsyncGenerator<AnswerEvent> {
    this.#events ??= this.#read();
    return this.#events;
  }

  /** text yields the pieces of the text of all steps. */
  async *text(): AsyncGenerator<string> {
    for await (const event of this) if (event.type === "text") yield event.text;
  }

  /** final reads what is left of the events and returns the answer. */
  async final(): Promise<AskAgentResponse> {
    for await (const _event of this);
    if (!this.#final) throw new RagdError("the stream ended without an answer", { code: "unavailable" });
    return this.#final;
  }

  async *#read(): AsyncGenerator<AnswerEvent> {
    for await (const { event } of this.#ask()) {
      switch (event.case) {
        case "step":
          yield { type: "step", number: event.value.number, model: event.value.model };
          break;
        case "toolCall": {
          const { step, call, toolName } = event.value;
          yield { type: "toolCall", step, call, toolName, arguments: event.value.arguments ?? {} };
          break;
        }
        case "toolResult": {
          const { step, call, toolName, error } = event.value;
          yield { type: "toolResult", step, call, toolName, error };
          break;
        }
        case "text":
          yield { type: "text", text: event.value };
          break;
        case "answer":
          this.#final = event.value;
          yield { type: "answer", answer: event.value };
      }
    }
  }
}
