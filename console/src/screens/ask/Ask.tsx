import { Button, Group, Select, Stack, Switch, Text, Textarea } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconMessageSearch } from "@tabler/icons-react";
import { useEffect, useState, type FormEvent, type KeyboardEvent } from "react";
import { Link, useSearchParams } from "react-router";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { Page, Panel } from "@/ui/Page";
import { AnswerView } from "./AnswerView";
import classes from "./Ask.module.css";
import { fromAddress, toAddress, type AskSettings } from "./settings";
import { SettingsForm } from "./SettingsForm";

/** Ask is a playground: a question, how it is asked, what it finds and why; two ways side by side. */
export default function Ask() {
  const [params, setParams] = useSearchParams();
  const indexes = useQuery(IndexService.method.listIndexes, { pageSize: 1000 });
  const names = indexes.data?.indexes.map((index) => index.indexName) ?? [];
  const question = params.get("question") ?? "";
  const [typed, setTyped] = useState(question);
  useEffect(() => setTyped(question), [question]);
  const compare = params.has("compare");
  const left = fromAddress(params);
  if (!left.index && names.length > 0) left.index = names[0]!;
  const right = fromAddress(params, "b.");
  if (!right.index) right.index = left.index;

  const set = (write: (next: URLSearchParams) => void, replace = false) =>
    setParams((old) => {
      write(old);
      return old;
    }, { replace });
  const change = (prefix: string) => (next: Partial<AskSettings>) => set((p) => toAddress(p, next, prefix), true);
  const ask = (event?: FormEvent) => {
    event?.preventDefault();
    set((p) => p.set("question", typed.trim()));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      ask();
    }
  };

  if (indexes.isError) return <Page title="Ask"><ErrorView error={indexes.error} retry={() => void indexes.refetch()} /></Page>;
  if (indexes.isSuccess && names.length === 0) {
    return <Page title="Ask"><Empty title="There is nothing to ask yet" action={<Button component={Link} to="/">Create an index</Button>}>Questions are answered from the documents of an index.</Empty></Page>;
  }
  return (
    <Page title="Ask" about="What a question finds, and why. The address of this page holds all of it.">
      <Panel>
        <form onSubmit={ask} className={classes.question}>
          <Select label="Index" data={names} value={left.index || null} onChange={(index) => change("")({ index: index ?? "" })} allowDeselect={false} searchable w={200} />
          <Textarea label="Question" className={classes.text} autosize minRows={1} maxRows={6} dir="auto" value={typed} onChange={(event) => setTyped(event.currentTarget.value)} onKeyDown={onKey} placeholder="When does the gate open?" data-autofocus />
          <Button type="submit" leftSection={<IconMessageSearch size={16} />} disabled={typed.trim() === "" || !left.index}>Ask</Button>
        </form>
        <Group>
          <Switch label="Compare two settings" checked={compare} onChange={(event) => {
            const on = event.currentTarget.checked;
            set((p) => (on ? p.set("compare", "1") : p.delete("compare")));
          }} />
        </Group>
      </Panel>
      <div className={classes.columns} data-compare={compare || undefined}>
        <Column name={compare ? "A" : ""} question={question} settings={left} onChange={change("")} />
        {compare && <Column name="B" question={question} settings={right} onChange={change("b.")} />}
      </div>
    </Page>
  );
}

function Column({ name, question, settings, onChange }: { name: string; question: string; settings: AskSettings; onChange: (change: Partial<AskSettings>) => void }) {
  return (
    <Stack className={classes.column} component="section" aria-label={name ? `Settings ${name}` : "Answer"}>
      <SettingsForm name={name} settings={settings} onChange={onChange} />
      {question && settings.index ? <AnswerView question={question} settings={settings} /> : <Text c="dimmed" size="sm">Write a question and press Enter.</Text>}
    </Stack>
  );
}
