import { createClient } from "@connectrpc/connect";
import { useEffect, useRef, useState } from "react";
import { transport } from "@/app/transport";
import { AgentService, type AskAgentEvent, type AskAgentResponse } from "@/gen/ragd/v1/agent_pb";

const agents = createClient(AgentService, transport);

/** Call is a call of a tool that the agent has made. */
export interface Call {
  call: number;
  toolName: string;
  arguments: unknown;
  error?: string;
  /** How long it took, in ms; absent while it runs. */
  took?: number;
}

/** Turn is a question and what has come of it. */
export interface Turn {
  question: string;
  /** The text of the step that the model is writing. */
  text: string;
  calls: Call[];
  answer?: AskAgentResponse;
  error?: unknown;
}

/** useAsk asks an agent and reports the turns of the conversation while they grow. */
export function useAsk(agentName: string, threadId: string) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [busy, setBusy] = useState(false);
  const stop = useRef<AbortController>(null);
  useEffect(() => () => stop.current?.abort(), []);

  async function ask(message: string) {
    const at = turns.length;
    setTurns([...turns, { question: message, text: "", calls: [] }]);
    const change = (next: (turn: Turn) => Turn) => setTurns((all) => all.map((turn, i) => (i === at ? next(turn) : turn)));
    setBusy(true);
    const control = new AbortController();
    stop.current = control;
    try {
      for await (const event of agents.askAgentStream({ ask: { agentName, message, threadId } }, { signal: control.signal })) change((turn) => apply(turn, event));
    } catch (error) {
      if (control.signal.aborted) change((turn) => ({ ...turn, error: new Error("Stopped.") }));
      else change((turn) => ({ ...turn, error }));
    } finally {
      setBusy(false);
    }
  }
  return { turns, busy, ask, stop: () => stop.current?.abort() };
}

function apply(turn: Turn, { event }: AskAgentEvent): Turn {
  switch (event.case) {
    case "step":
      return { ...turn, text: "" };
    case "text":
      return { ...turn, text: turn.text + event.value };
    case "toolCall":
      return { ...turn, calls: [...turn.calls, { call: event.value.call, toolName: event.value.toolName, arguments: event.value.arguments }] };
    case "toolResult": {
      const { call, error, took } = event.value;
      const ms = took ? Number(took.seconds) * 1000 + took.nanos / 1e6 : 0;
      return { ...turn, calls: turn.calls.map((c) => (c.call === call ? { ...c, error, took: ms } : c)) };
    }
    case "answer":
      return { ...turn, text: "", answer: event.value };
    default:
      return turn;
  }
}
