import { Anchor, Button, Group, Select, Stack, Switch, Text, Textarea } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconMessageSearch } from "@tabler/icons-react";
import { useEffect, useState, type FormEvent, type KeyboardEvent } from "react";
import { Link } from "react-router";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { AgentService } from "@/gen/ragd/v1/agent_pb";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { Page, Panel } from "@/ui/Page";
import { useParameters } from "@/ui/useParameter";
import { AgentAnswer } from "./AgentAnswer";
import { AnswerView } from "./AnswerView";
import classes from "./Ask.module.css";
import { Facets, mostIndexes } from "./Facets";
import { IndexChooser } from "./IndexChooser";
import { allIndexes, indexesOf, named } from "./indexes";
import { Moves } from "./Moves";
import { useProfiles } from "./ProfileSelect";
import { fromAddress, toAddress, type AskSettings } from "./settings";
import { SettingsForm } from "./SettingsForm";

/** passages is the choice of the box that asks no agent. */
const passages = "";

/** Ask is a question, what it finds and why, and what an agent answers; or two settings side by side. */
export default function Ask() {
  const [params, set] = useParameters();
  const mayChange = whyNotChange(useSession()) === "";
  const indexes = useQuery(IndexService.method.listIndexes, { pageSize: 1000 });
  const agents = useQuery(AgentService.method.listAgents, { pageSize: 1000 }, { retry: false, staleTime: 60_000 });
  const agentNames = agents.data?.agents.map((agent) => agent.agentName) ?? [];
  const names = indexes.data?.indexes.map((index) => index.indexName) ?? [];
  const question = params.get("question") ?? "";
  const [typed, setTyped] = useState(question);
  const [asked, setAsked] = useState(0); // how often an agent was asked from this page
  useEffect(() => setTyped(question), [question]);
  const compare = params.has("compare");
  const agent = params.get("agent") ?? passages;
  const left = fromAddress(params);
  if (!left.index && names.length > 0) left.index = names[0]!;
  const right = fromAddress(params, "b.");
  if (!right.index) right.index = left.index;
  const within = (settings: AskSettings) => named(indexesOf(settings.index), names).slice(0, mostIndexes); // whose fields and profiles are read
  const profiles = useProfiles(within(left));
  const meant = named(indexesOf(left.index), names).length;
  const faceted = question !== "" && !compare && meant > 0 && meant <= mostIndexes;

  const change = (prefix: string) => (next: Partial<AskSettings>) => set((p) => toAddress(p, next, prefix));
  const ask = (event?: FormEvent) => {
    event?.preventDefault();
    if (typed.trim() === "") return;
    set((p) => p.set("question", typed.trim()), true);
    setAsked(asked + 1);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      ask();
    }
  };
  const choose = (name: string) => {
    setAsked(0);
    set((p) => (name ? p.set("agent", name) : p.delete("agent")));
  };

  if (indexes.isError) return <Page title="Ask"><ErrorView error={indexes.error} retry={() => void indexes.refetch()} /></Page>;
  if (indexes.isSuccess && names.length === 0) {
    return <Page title="Ask"><Empty title="There is nothing to ask yet" action={<Button component={Link} to="/">Create an index</Button>}>Questions are answered from the documents of an index.</Empty></Page>;
  }
  return (
    <Page title="Ask">
      <Panel>
        <form onSubmit={ask} className={classes.question}>
          <Textarea label="Question" size="md" className={classes.text} autosize minRows={1} maxRows={8} dir="auto" value={typed} onChange={(event) => setTyped(event.currentTarget.value)} onKeyDown={onKey} placeholder="When does the gate open?" data-autofocus />
          <Button type="submit" size="md" leftSection={<IconMessageSearch size={18} />} disabled={typed.trim() === "" || !left.index}>Ask</Button>
        </form>
        <Group gap="md" align="center">
          <IndexChooser names={names} value={left.index} onChange={(index) => change("")({ index: index || names.length < 2 ? index : allIndexes })} />
          {agentNames.length > 0 && (
            <Select size="xs" aria-label="Who answers" data={[{ value: passages, label: "Show passages" }, ...agentNames.map((name) => ({ value: name, label: `Let ${name} answer` }))]} value={agent} onChange={(name) => choose(name ?? passages)} allowDeselect={false} w={190} />
          )}
          {agents.isSuccess && agentNames.length === 0 && mayChange && <Anchor component={Link} to="/agents?create" size="xs" underline="always">Make an agent that answers</Anchor>}
          <Switch size="xs" label="Compare two settings" checked={compare} onChange={(event) => {
            const on = event.currentTarget.checked;
            set((p) => (on ? p.set("compare", "1") : p.delete("compare")), true);
          }} />
          {!compare && profiles.length > 0 && (
            <Button size="compact-xs" variant="default" onClick={() => set((p) => {
              p.set("compare", "1");
              toAddress(p, { profile: "none" });
              toAddress(p, { profile: left.profile && left.profile !== "none" ? left.profile : profiles[0] }, "b.");
            }, true)}
            >
              Compare ranking profiles
            </Button>
          )}
        </Group>
        {!compare && <SettingsForm name="" settings={left} indexNames={within(left)} onChange={change("")} />}
      </Panel>
      {question && agent && <AgentAnswer key={agent} agentName={agent} question={question} asked={asked} />}
      {compare && question && left.index && <Moves question={question} a={left} b={right} />}
      <div className={classes.columns} data-compare={compare || undefined} data-facets={faceted || undefined}>
        {faceted && <Facets question={question} settings={left} indexNames={within(left)} onFilter={(filter) => change("")({ filter })} />}
        <Column name={compare ? "A" : ""} question={question} settings={left} indexNames={within(left)} onChange={change("")} />
        {compare && <Column name="B" question={question} settings={right} indexNames={within(right)} onChange={change("b.")} before={left} />}
      </div>
    </Page>
  );
}

interface ColumnProps {
  name: string;
  question: string;
  settings: AskSettings;
  /** The names of the indexes that are asked. */
  indexNames: string[];
  onChange: (change: Partial<AskSettings>) => void;
  /** The settings that these are compared with. */
  before?: AskSettings;
}

function Column({ name, question, settings, indexNames, onChange, before }: ColumnProps) {
  return (
    <Stack className={classes.column} component="section" aria-label={name ? `Answer ${name}` : "Answer"}>
      {name && <Panel><SettingsForm name={name} settings={settings} indexNames={indexNames} onChange={onChange} /></Panel>}
      {question && settings.index ? <AnswerView question={question} settings={settings} before={before} /> : <Text c="dimmed" size="sm">Write a question and press Enter.</Text>}
    </Stack>
  );
}
