import { Badge, Button, Checkbox, Group, SegmentedControl, Skeleton, Text, UnstyledButton } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { EvaluateService, type Question, type QuestionSet } from "@/gen/ragd/v1/evaluate_pb";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { notifyDone, notifyError } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { DraftProgress } from "./DraftProgress";
import { QuestionForm } from "./QuestionForm";
import { answeredBy } from "./words";
import classes from "./Evaluate.module.css";

interface Props {
  set: QuestionSet;
  onDraft: () => void;
  onImport: () => void;
}

/** Questions lists the questions of a set, and adds, changes, reviews and deletes them. */
export function Questions({ set, onDraft, onImport }: Props) {
  const { canWrite } = useSession();
  const [editing, setEditing] = useState<Question | "new">();
  const add = canWrite && <Button size="xs" variant="default" leftSection={<IconPlus size={14} />} onClick={() => setEditing("new")}>Add a question</Button>;
  const form = editing !== undefined && <QuestionForm setName={set.setName} question={editing === "new" ? undefined : editing} onClose={() => setEditing(undefined)} />;
  const draft = <DraftProgress jobId={set.draftJobId} />;
  if (set.questionCount === 0) {
    const buttons = canWrite && <Group justify="center">{add}<Button size="xs" variant="default" onClick={onImport}>Import a file</Button><Button size="xs" onClick={onDraft}>Draft questions</Button></Group>;
    return <>{draft}<Empty title="No question yet" action={buttons}>Ask what people ask, in their words, and name the documents that answer it. Drafts from the documents are a quick beginning.</Empty>{form}</>;
  }
  return <Panel actions={add}>{draft}<List set={set} onEdit={setEditing} />{form}</Panel>;
}

function List({ set, onEdit }: { set: QuestionSet; onEdit: (question: Question) => void }) {
  const { canWrite } = useSession();
  const [parameters, setParameters] = useSearchParams();
  const only = parameters.get("drafted") ?? "";
  const [chosen, setChosen] = useState<string[]>([]);
  const [deleting, setDeleting] = useState(false);
  const questions = useInfiniteQuery(
    EvaluateService.method.listQuestions,
    { setName: set.setName, pageSize: 100, pageToken: "", drafted: only === "" ? undefined : only === "yes" },
    { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined },
  );
  const remove = useMutation(EvaluateService.method.deleteQuestions);
  const put = useMutation(EvaluateService.method.putQuestions, {
    onSuccess: () => {
      setChosen([]);
      notifyDone("Marked as reviewed.");
      void refresh(EvaluateService);
    },
    onError: notifyError,
  });
  async function deleteChosen() {
    for (let i = 0; i < chosen.length; i += 1000) await remove.mutateAsync({ setName: set.setName, questionIds: chosen.slice(i, i + 1000) });
    setChosen([]);
    void refresh(EvaluateService);
  }
  if (questions.isPending) return <Skeleton h={160} aria-busy />;
  if (questions.isError) return <ErrorView error={questions.error} retry={() => void questions.refetch()} />;
  const rows = questions.data.pages.flatMap((page) => page.questions);
  const drafts = rows.filter((question) => question.drafted && chosen.includes(question.questionId));
  const toggle = (id: string) => setChosen((before) => (before.includes(id) ? before.filter((other) => other !== id) : [...before, id]));
  const all = rows.length > 0 && rows.every((question) => chosen.includes(question.questionId));
  const columns: Column<Question>[] = [
    ...(canWrite ? [{
      head: <Checkbox size="xs" aria-label="Choose all" checked={all} indeterminate={!all && chosen.length > 0} onChange={() => setChosen(all ? [] : rows.map((question) => question.questionId))} />,
      cell: (question: Question) => <Checkbox size="xs" aria-label={`Choose ${question.questionId}`} checked={chosen.includes(question.questionId)} onChange={() => toggle(question.questionId)} />,
      narrow: true,
    }] : []),
    {
      head: "Question",
      cell: (question) => (
        <>
          {canWrite
            ? <UnstyledButton className={classes.question} onClick={() => onEdit(question)} dir="auto">{question.text}</UnstyledButton>
            : <span className={classes.question} dir="auto">{question.text}</span>}
          <Text size="xs" c="dimmed" component="div">{question.questionId} {question.drafted && <Badge size="xs" variant="light" color="yellow" tt="none">draft</Badge>}</Text>
        </>
      ),
    },
    { head: "Answered by", cell: (question) => <ul className={classes.plain}>{answeredBy(question).map((text, i) => <li key={i} dir="auto">{text}</li>)}</ul> },
  ];
  return (
    <>
      <div className={classes.bar}>
        <SegmentedControl size="xs" aria-label="Which questions" value={only} onChange={(drafted) => setParameters(drafted ? { drafted } : {}, { replace: true })} data={[{ value: "", label: "All" }, { value: "yes", label: "Drafts" }, { value: "no", label: "Reviewed" }]} />
        {chosen.length > 0 && (
          <Group gap="xs">
            <Text size="sm">{chosen.length} chosen</Text>
            {drafts.length > 0 && <Button size="xs" variant="default" loading={put.isPending} onClick={() => put.mutate({ setName: set.setName, questions: drafts.slice(0, 1000).map((question) => ({ ...question, drafted: false })) })}>Mark as reviewed</Button>}
            <Button size="xs" color="red" variant="outline" onClick={() => setDeleting(true)}>Delete</Button>
          </Group>
        )}
      </div>
      <Table label="Questions" columns={columns} rows={rows} id={(question) => question.questionId} more={questions.hasNextPage ? () => void questions.fetchNextPage() : undefined} loading={questions.isFetching} />
      <Confirm opened={deleting} onClose={() => setDeleting(false)} title={`Delete ${plural(chosen.length, "question")}?`} action="Delete" onConfirm={deleteChosen}>Runs that have ended keep their results.</Confirm>
    </>
  );
}
