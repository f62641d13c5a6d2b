import { ActionIcon, Button, Checkbox, Group, Modal, NumberInput, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { IconTrash } from "@tabler/icons-react";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { EvaluateService, type Question } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";
import classes from "./Evaluate.module.css";

interface Row {
  uri: string;
  grade: number | "";
  start: number | "";
  end: number | "";
}

const blank: Row = { uri: "", grade: "", start: "", end: "" };
const optional = (n: number | "") => (n === "" ? undefined : n);

/** QuestionForm adds a question to a set, or changes one; a draft that is saved counts as reviewed. */
export function QuestionForm({ setName, question, onClose }: { setName: string; question?: Question; onClose: () => void }) {
  const [id, setId] = useState(question?.questionId ?? `q-${crypto.randomUUID().slice(0, 8)}`);
  const [text, setText] = useState(question?.text ?? "");
  const [answer, setAnswer] = useState(question?.answer ?? "");
  const [alternatives, setAlternatives] = useState(question?.alternativeAnswers.join("\n") ?? "");
  const [unanswerable, setUnanswerable] = useState(question?.unanswerable ?? false);
  const [rows, setRows] = useState<Row[]>(() => [...(question?.relevant ?? []).map((r) => ({ uri: r.uri, grade: r.grade ?? ("" as const), start: r.startByte ?? ("" as const), end: r.endByte ?? ("" as const) })), ...(question ? [] : [blank])]);
  const put = useMutation(EvaluateService.method.putQuestions, {
    onSuccess: () => {
      void refresh(EvaluateService);
      onClose();
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    const relevant = unanswerable ? [] : rows.filter((row) => row.uri.trim() !== "").map((row) => ({ uri: row.uri.trim(), grade: optional(row.grade), startByte: optional(row.start), endByte: optional(row.end) }));
    put.mutate({
      setName,
      questions: [{ questionId: id, text, relevant, unanswerable, answer: unanswerable ? "" : answer, alternativeAnswers: unanswerable ? [] : alternatives.split("\n").map((line) => line.trim()).filter(Boolean) }],
    });
  }
  const change = (i: number, part: Partial<Row>) => setRows(rows.map((row, j) => (j === i ? { ...row, ...part } : row)));
  return (
    <Modal opened onClose={onClose} size="lg" title={question ? "Change a question" : "Add a question"} closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <Textarea label="Question" autosize minRows={2} value={text} onChange={(event) => setText(event.currentTarget.value)} required data-autofocus dir="auto" />
          {!question && <TextInput label="Id" description="A question with an id that the set has is replaced." value={id} onChange={(event) => setId(event.currentTarget.value)} required />}
          <Checkbox label="No document answers it" checked={unanswerable} onChange={(event) => setUnanswerable(event.currentTarget.checked)} />
          {!unanswerable && (
            <>
              <Stack gap={6}>
                <Text size="sm" fw={500}>Relevant documents</Text>
                {rows.map((row, i) => <RelevantRow key={i} number={i + 1} row={row} onChange={(part) => change(i, part)} onRemove={() => setRows(rows.filter((_, j) => j !== i))} />)}
                <div><Button size="xs" variant="default" onClick={() => setRows([...rows, blank])}>Add a document</Button></div>
              </Stack>
              <Textarea label="Answer" description="Without relevant documents, a chunk is relevant if it contains this text. Answers of agents are compared with it." autosize minRows={1} value={answer} onChange={(event) => setAnswer(event.currentTarget.value)} dir="auto" />
              <Textarea label="Other answers that are as good" description="One a line." autosize minRows={1} value={alternatives} onChange={(event) => setAlternatives(event.currentTarget.value)} dir="auto" />
            </>
          )}
          {put.isError && <ErrorView error={put.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={put.isPending}>{question?.drafted ? "Save as reviewed" : "Save"}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function RelevantRow({ number, row, onChange, onRemove }: { number: number; row: Row; onChange: (part: Partial<Row>) => void; onRemove: () => void }) {
  const numeric = (value: number | string) => (value === "" ? "" : Number(value));
  return (
    <div className={classes.relevant}>
      <TextInput className={classes.uri} aria-label={`Uri of document ${number}`} placeholder="handbook/tides.md" value={row.uri} onChange={(event) => onChange({ uri: event.currentTarget.value })} />
      <NumberInput aria-label={`Grade of document ${number}`} placeholder="Grade" min={0} step={1} hideControls value={row.grade} onChange={(grade) => onChange({ grade: numeric(grade) })} />
      <NumberInput aria-label={`First byte in document ${number}`} placeholder="From byte" min={0} allowDecimal={false} hideControls value={row.start} onChange={(start) => onChange({ start: numeric(start) })} />
      <NumberInput aria-label={`End of the bytes in document ${number}`} placeholder="To byte" min={0} allowDecimal={false} hideControls value={row.end} onChange={(end) => onChange({ end: numeric(end) })} />
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Remove document ${number}`} onClick={onRemove}><IconTrash size={16} /></ActionIcon>
    </div>
  );
}
