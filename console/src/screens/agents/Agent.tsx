import { Stack, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { useParams } from "react-router";
import { refresh } from "@/app/queries";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { AgentService, CreateAgentRequestSchema, type Agent } from "@/gen/ragd/v1/agent_pb";
import { Code } from "@/ui/Code";
import { Delete } from "@/ui/Delete";
import { Definition } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { useNames } from "@/ui/useNames";
import { useParameter } from "@/ui/useParameter";
import { Conversation } from "./Conversation";
import { agentFields } from "./definition";
import { Threads } from "./Threads";

/** AgentScreen talks with an agent, and shows or changes its definition. */
export default function AgentScreen() {
  const { agent = "" } = useParams();
  return <OfTenant title={agent}><Details key={agent} name={agent} /></OfTenant>;
}

function Details({ name }: { name: string }) {
  const [tab, setTab] = useParameter("tab", "ask");
  const [thread, setThread] = useParameter("thread");
  const [begun, setBegun] = useState(""); // a conversation of which the service knows nothing yet
  const agent = useQuery(AgentService.method.getAgent, { agentName: name });
  return (
    <Page title={name} crumbs={[{ to: "/agents", label: "Agents" }]} about={agent.data && String(agent.data.definition?.model ?? "")}>
      <Loading query={agent}>
        {(agent) => (
          <>
            <Text size="sm" maw="60rem" dir="auto">{String(agent.definition?.description ?? "")}</Text>
            <Tabs value={tab} onChange={(next) => {
              setBegun("");
              setTab(next ?? "ask");
            }} keepMounted={false}>
              <Tabs.List aria-label="Parts of the agent" mb="md">
                <Tabs.Tab value="ask">Ask it</Tabs.Tab>
                <Tabs.Tab value="threads">Conversations</Tabs.Tab>
                <Tabs.Tab value="definition">Definition</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="ask"><Conversation
                  key={thread} agentName={name} threadId={thread} isNew={thread === begun}
                  onThread={(next) => {
                    setBegun(next);
                    setThread(next);
                  }}
                /></Tabs.Panel>
              <Tabs.Panel value="threads"><Threads agentName={name} /></Tabs.Panel>
              <Tabs.Panel value="definition"><Edit agent={agent} /></Tabs.Panel>
            </Tabs>
          </>
        )}
      </Loading>
    </Page>
  );
}

function Edit({ agent: { agentName, definition } }: { agent: Agent }) {
  const session = useSession();
  const { indexes, tools } = useNames();
  const update = useMutation(AgentService.method.updateAgent);
  const remove = useMutation(AgentService.method.deleteAgent);
  const why = whyNotChange(session);
  if (why) return <Panel><Text size="sm" c="dimmed">{why}</Text><Code text={JSON.stringify(definition, null, 2)} /></Panel>;
  return (
    <Stack>
      <Panel>
        <Definition
          schema={CreateAgentRequestSchema} fields={agentFields({ stored: true, indexes, tools })} value={{ agentName, definition: definition ?? {} }} action="Save" stored
          onSave={async (changed) => {
            await update.mutateAsync({ agentName, definition: changed.definition });
            await refresh(AgentService);
            notifyDone("Saved.");
          }}
        />
      </Panel>
      <Delete what={`the agent ${agentName}`} name={agentName} to="/agents" onDelete={() => remove.mutateAsync({ agentName })}>
        Its conversations are deleted with it. Workflows and servers that name it find it no longer.
      </Delete>
    </Stack>
  );
}
