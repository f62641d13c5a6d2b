import { Autocomplete, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { IconBookmark } from "@tabler/icons-react";
import { useState, type FormEvent } from "react";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { EvaluateService } from "@/gen/ragd/v1/evaluate_pb";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { notifyDone } from "@/ui/notify";

const evaluations = createClient(EvaluateService, transport);

/** SaveQuestion puts a question, with the sources that were marked as relevant, into a question set. */
export function SaveQuestion({ question, indexName, sources }: { question: string; indexName: string; sources: Source[] }) {
  const { canWrite } = useSession();
  const [opened, dialog] = useDisclosure(false);
  if (!canWrite) return null;
  return (
    <>
      <Button size="xs" variant="default" leftSection={<IconBookmark size={14} />} onClick={dialog.open}>Save as question</Button>
      <Modal opened={opened} onClose={dialog.close} title="Save for evaluations">
        <Form question={question} indexName={indexName} sources={sources} onDone={dialog.close} />
      </Modal>
    </>
  );
}

function Form({ question, indexName, sources, onDone }: { question: string; indexName: string; sources: Source[]; onDone: () => void }) {
  const sets = useQuery(EvaluateService.method.listQuestionSets, { pageSize: 1000 });
  const [setName, setSetName] = useState("");
  const [questionId, setQuestionId] = useState(() => slug(question));
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  async function save(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await evaluations.createQuestionSet({ setName, indexName }).catch((problem: unknown) => {
        if (ConnectError.from(problem).code !== Code.AlreadyExists) throw problem;
      });
      const relevant = sources.map(({ uri, startByte, endByte }) => (endByte > startByte ? { uri, startByte, endByte } : { uri }));
      await evaluations.putQuestions({ setName, questions: [{ questionId, text: question, relevant, unanswerable: relevant.length === 0 }] });
      notifyDone(`Saved in ${setName}.`);
      onDone();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form onSubmit={(event) => void save(event)}>
      <Stack>
        <Text size="sm">
          {sources.length > 0 ? `${plural(sources.length, "result")} marked as relevant.` : "No result is marked as relevant: the question is saved as one that no document answers."}
        </Text>
        <Autocomplete label="Question set" description="A new name makes a new set." data={sets.data?.questionSets.map((set) => set.setName) ?? []} value={setName} onChange={setSetName} required data-autofocus />
        <TextInput label="Id of the question" value={questionId} onChange={(event) => setQuestionId(event.currentTarget.value)} required />
        {error !== undefined && <ErrorView error={error} />}
        <Group justify="flex-end"><Button type="submit" loading={busy}>Save</Button></Group>
      </Stack>
    </form>
  );
}

/** slug returns a short id made of a question's words. */
function slug(question: string): string {
  return question.toLowerCase().normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "question";
}
