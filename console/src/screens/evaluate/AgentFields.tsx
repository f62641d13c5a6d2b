import { Autocomplete, TextInput } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { AgentService } from "@/gen/ragd/v1/agent_pb";
import type { RunSettings } from "./runSettings";

/** AgentFields asks which agent a run asks, and how its answers are judged. */
export function AgentFields({ settings, onChange }: { settings: RunSettings; onChange: (part: Partial<RunSettings>) => void }) {
  const agents = useQuery(AgentService.method.listAgents, { pageSize: 1000 });
  return (
    <>
      <Autocomplete label="Agent" data={(agents.data?.agents ?? []).map((agent) => agent.agentName)} value={settings.agentName} onChange={(agentName) => onChange({ agentName })} required />
      <TextInput label="Model that judges the answers" description="endpoint/model. Empty: answers are compared as texts, and their citations are checked." placeholder="openai/gpt-5" value={settings.judgeModel} onChange={(event) => onChange({ judgeModel: event.currentTarget.value })} />
      <TextInput label="Pattern of answers that decline" description="A regular expression. Empty: the judge decides; without one, answers that cite nothing." placeholder="(?i)i do not know" value={settings.declinePattern} onChange={(event) => onChange({ declinePattern: event.currentTarget.value })} />
    </>
  );
}
