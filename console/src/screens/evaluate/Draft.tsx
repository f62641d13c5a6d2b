import { Button, Group, Modal, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { EvaluateService, type QuestionSet } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";

/** Draft starts a job that adds questions made from the documents of the set's index. */
export function Draft({ set, onClose }: { set: QuestionSet; onClose: () => void }) {
  const [count, setCount] = useState<number | "">(20);
  const [model, setModel] = useState("");
  const [seed, setSeed] = useState<number | "">("");
  const draft = useMutation(EvaluateService.method.draftQuestions, {
    onSuccess: () => {
      void refresh(EvaluateService);
      onClose();
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    draft.mutate({ setName: set.setName, count: Number(count), model, seed: BigInt(seed || 0) });
  }
  return (
    <Modal opened onClose={onClose} title="Draft questions" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">Adds questions made from chunks of {set.indexName} that are sampled over its documents. Review drafts before you trust what they measure.</Text>
          <NumberInput label="Questions" min={1} max={1000} allowDecimal={false} value={count} onChange={(n) => setCount(n === "" ? "" : Number(n))} required data-autofocus />
          <TextInput label="Language model" description="endpoint/model. Empty: questions are made of titles, headings and first sentences, which keyword search finds too easily." placeholder="openai/gpt-5-mini" value={model} onChange={(event) => setModel(event.currentTarget.value)} />
          <NumberInput label="Seed" description="Another number samples other documents." min={0} allowDecimal={false} placeholder="0" value={seed} onChange={(n) => setSeed(n === "" ? "" : Number(n))} />
          {draft.isError && <ErrorView error={draft.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={draft.isPending}>Draft</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
