import type { JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { useEffect, useRef, useState } from "react";
import { transport } from "@/app/transport";
import { ToolService, type CallToolResponse, type ToolProgress, type ToolQuestion } from "@/gen/ragd/v1/tool_pb";

/** CallState is how far a call of a tool is, and what came of it. */
export interface CallState {
  running: boolean;
  progress?: ToolProgress;
  response?: CallToolResponse;
  /** Set if the tool asks the user before it answers. */
  question?: ToolQuestion;
  error?: unknown;
  /** How long the call took, in milliseconds. */
  took?: number;
}

/** useCall calls a tool, as a server shows it if one is named, and follows the call. */
export function useCall(toolName: string, server: string) {
  const [state, setState] = useState<CallState>({ running: false });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  async function call(given: JsonObject, answers?: JsonObject) {
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    const began = performance.now();
    setState({ running: true });
    const end = (last: Partial<CallState>) => {
      if (running.current === control) setState({ running: false, took: performance.now() - began, ...last });
    };
    try {
      const options = { signal: control.signal, headers: server ? { "Ragd-Server": server } : undefined };
      let response: CallToolResponse | undefined;
      for await (const { event } of createClient(ToolService, transport).callToolStream({ call: { toolName, arguments: given, canAsk: true, answers } }, options)) {
        if (event.case === "progress" && running.current === control) setState({ running: true, progress: event.value });
        if (event.case === "response") response = event.value;
      }
      end({ response, question: response?.question });
    } catch (error) {
      end({ error });
    }
  }
  return { state, call, stop: () => running.current?.abort() };
}
