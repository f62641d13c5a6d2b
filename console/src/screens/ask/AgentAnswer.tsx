import { Button, Group, Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import { Panel } from "@/ui/Page";
import { TurnView } from "../agents/TurnView";
import { useAsk } from "../agents/useAsk";

/** AgentAnswer lets an agent answer a question: at once if it was asked from this page, else when a button is pressed, because an answer may cost something. */
export function AgentAnswer({ agentName, question, asked }: { agentName: string; question: string; asked: number }) {
  const { turns, busy, ask, stop } = useAsk(agentName, "");
  const done = useRef(0);
  const turn = turns.at(-1);
  useEffect(() => {
    if (asked === done.current) return;
    done.current = asked;
    void ask(question);
  }, [asked, question]); // eslint-disable-line
  const actions = (
    <Group gap="xs">
      {busy && <Button size="xs" variant="default" onClick={stop}>Stop</Button>}
      {!busy && <Button size="xs" variant="default" onClick={() => void ask(question)}>{turn ? "Ask again" : `Ask ${agentName}`}</Button>}
    </Group>
  );
  return (
    <Panel title={`Answer of ${agentName}`} actions={actions}>
      <div role="log" aria-label="Answer of the agent">
        {turn ? (
          <>
            {turn.question !== question && <Text size="xs" c="dimmed" dir="auto">To: {turn.question}</Text>}
            <TurnView turn={turn} />
          </>
        ) : <Text size="sm" c="dimmed">It was not asked this yet.</Text>}
      </div>
    </Panel>
  );
}
