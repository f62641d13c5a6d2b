import { Button, Group, Modal, Stack, Textarea } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { EvaluateService, type QuestionSet } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";
import { IndexSelect } from "./IndexSelect";

/** EditSet changes the index and the description of a question set. */
export function EditSet({ set, onClose }: { set: QuestionSet; onClose: () => void }) {
  const [indexName, setIndexName] = useState(set.indexName);
  const [description, setDescription] = useState(set.description);
  const update = useMutation(EvaluateService.method.updateQuestionSet, {
    onSuccess: () => {
      void refresh(EvaluateService);
      onClose();
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    update.mutate({ setName: set.setName, indexName, description });
  }
  return (
    <Modal opened onClose={onClose} title={`Change ${set.setName}`} closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <IndexSelect label="Index" value={indexName} onChange={setIndexName} required />
          <Textarea label="Description" autosize minRows={2} value={description} onChange={(event) => setDescription(event.currentTarget.value)} dir="auto" />
          {update.isError && <ErrorView error={update.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={update.isPending}>Save</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
