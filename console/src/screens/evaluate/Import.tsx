import { Alert, Button, Checkbox, FileInput, Group, Modal, Progress, Stack, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useState } from "react";
import { refresh } from "@/app/queries";
import { transport } from "@/app/transport";
import { EvaluateService, type QuestionSet } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";
import { count, plural } from "@/ui/format";
import { notifyDone } from "@/ui/notify";
import { isJudged, judge, readQuestions, type NewQuestion } from "./questionsFile";

/** A call puts at most perCall questions with about charactersPerCall of text. */
const perCall = 500;
const charactersPerCall = 1 << 20;

async function text(file: File): Promise<string> {
  try {
    const stream = file.name.endsWith(".gz") ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    return await new Response(stream).text();
  } catch {
    throw new Error(`${file.name} cannot be read. Has it changed since it was chosen, or is it not compressed by gzip?`);
  }
}

function batches(questions: NewQuestion[]): NewQuestion[][] {
  const all: NewQuestion[][] = [];
  let size = Infinity;
  for (const question of questions) {
    if (size > charactersPerCall || all.at(-1)!.length >= perCall) {
      all.push([]);
      size = 0;
    }
    all.at(-1)!.push(question);
    size += JSON.stringify(question).length;
  }
  return all;
}

/** Import adds the questions of files that `ragd eval` reads to a set, and replaces those whose ids it has. */
export function Import({ set, onClose }: { set: QuestionSet; onClose: () => void }) {
  const [queries, setQueries] = useState<File | null>(null);
  const [qrels, setQrels] = useState<File | null>(null);
  const [unanswerable, setUnanswerable] = useState(false);
  const [done, setDone] = useState<number>();
  const [total, setTotal] = useState(0);
  const [mistake, setMistake] = useState("");
  const [error, setError] = useState<unknown>();

  async function read(): Promise<NewQuestion[] | undefined> {
    try {
      let questions = readQuestions(await text(queries!));
      if (qrels) questions = judge(questions, await text(qrels));
      if (unanswerable) questions = questions.map((question) => (isJudged(question) ? question : { ...question, unanswerable: true }));
      return questions;
    } catch (problem) {
      setMistake((problem as Error).message);
      setQueries(null); // a browser does not read a file again that was changed after it was chosen
      setQrels(null);
      return undefined;
    }
  }
  async function start() {
    setMistake("");
    setError(undefined);
    const all = await read();
    if (!all) return;
    const questions = all.filter(isJudged);
    if (questions.length === 0) {
      setMistake("It has no question for which it says what answers it.");
      return;
    }
    setTotal(questions.length);
    let stored = 0;
    setDone(0);
    try {
      for (const batch of batches(questions)) {
        await createClient(EvaluateService, transport).putQuestions({ setName: set.setName, questions: batch });
        setDone((stored += batch.length));
      }
      const left = all.length - questions.length;
      notifyDone(`Imported ${plural(stored, "question")}${left > 0 ? `; left out ${count(left)} for which nothing is relevant` : ""}.`);
      onClose();
    } catch (problem) {
      setError(problem);
      setDone(undefined);
    }
    void refresh(EvaluateService);
  }
  return (
    <Modal opened onClose={onClose} title="Import questions" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm">JSON Lines, each with <code>id</code>, <code>text</code>, and <code>uris</code>, <code>relevant</code>, <code>answer</code> or <code>unanswerable</code>. Questions whose ids the set has are replaced.</Text>
        <FileInput label="Questions" placeholder="questions.jsonl, or .jsonl.gz" value={queries} onChange={setQueries} required clearable clearButtonProps={{ "aria-label": "Remove the file of questions" }} />
        <FileInput label="Relevant documents" description="Instead of those in the questions: query_id, doc_id and relevance, with tabs between them." placeholder="qrels.tsv" value={qrels} onChange={setQrels} clearable clearButtonProps={{ "aria-label": "Remove the file of relevant documents" }} />
        <Checkbox label="Questions for which nothing is relevant are unanswerable" description="Otherwise they are left out." checked={unanswerable} onChange={(event) => setUnanswerable(event.currentTarget.checked)} />
        {mistake && <Alert color="red" role="alert" title="The file is not as expected">{mistake} Correct it, and choose it again.</Alert>}
        {error !== undefined && <ErrorView error={error} />}
        {done !== undefined && <Progress value={(100 * done) / total} aria-label={`${done} of ${total} questions`} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>Cancel</Button>
          <Button disabled={!queries} loading={done !== undefined} onClick={() => void start()}>Import</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
