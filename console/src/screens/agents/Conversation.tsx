import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { Fragment, useState, type FormEvent, type KeyboardEvent } from "react";
import { refresh } from "@/app/queries";
import { AgentService } from "@/gen/ragd/v1/agent_pb";
import { Panel } from "@/ui/Page";
import { Prose, RawSwitch } from "@/ui/text/Prose";
import classes from "./Agents.module.css";
import { TurnView } from "./TurnView";
import { useAsk } from "./useAsk";

/** Conversation asks an agent: single questions, or a conversation that it remembers. */
export function Conversation({ agentName, threadId, isNew, onThread }: { agentName: string; threadId: string; isNew: boolean; onThread: (threadId: string) => void }) {
  const [message, setMessage] = useState("");
  const { turns, busy, ask, stop } = useAsk(agentName, threadId);
  const earlier = useQuery(AgentService.method.getThread, { agentName, threadId }, { enabled: threadId !== "" && !isNew, retry: false, staleTime: Infinity, refetchOnWindowFocus: false });
  function send(event?: FormEvent) {
    event?.preventDefault();
    if (message.trim() === "" || busy) return;
    setMessage("");
    void ask(message.trim()).then(() => refresh(AgentService));
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
  };
  const remembered = turns.length === 0 ? (earlier.data?.messages ?? []) : [];
  return (
    <Stack maw="60rem">
      <Group gap="xs">
        <Text size="sm" c="dimmed">{threadId ? `Conversation ${threadId}: the agent remembers what was said.` : "Each question is answered by itself."}</Text>
        {threadId ? <Button size="compact-xs" variant="default" onClick={() => onThread("")}>Leave it</Button> : <Button size="compact-xs" variant="default" onClick={() => onThread(`console-${Date.now().toString(36)}`)}>Begin a conversation</Button>}
        <RawSwitch />
      </Group>
      {remembered.map((m, i) => <div key={i} className={classes.message} data-role={m.role} dir="auto">{m.role === "user" ? m.text : <Prose text={m.text} markdown />}</div>)}
      <Stack role="log" aria-label="Answers">
        {turns.map((turn, i) => (
          <Fragment key={i}>
            <div className={classes.message} data-role="user" dir="auto">{turn.question}</div>
            <Panel><TurnView turn={turn} /></Panel>
          </Fragment>
        ))}
      </Stack>
      <form onSubmit={send}>
        <Group align="flex-end">
          <Textarea className={classes.input} label="Message" autosize minRows={1} maxRows={8} dir="auto" value={message} onChange={(event) => setMessage(event.currentTarget.value)} onKeyDown={onKey} data-autofocus />
          {busy ? <Button variant="default" onClick={stop}>Stop</Button> : <Button type="submit" disabled={message.trim() === ""}>Send</Button>}
        </Group>
      </form>
    </Stack>
  );
}
