import { Button, Group, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { refresh } from "@/app/queries";
import { EvaluateService } from "@/gen/ragd/v1/evaluate_pb";
import { ErrorView } from "@/ui/ErrorView";
import { IndexSelect } from "./IndexSelect";
import { setPath } from "./words";

/** CreateSet asks for the name and the index of a new question set, and opens it. */
export function CreateSet({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [setName, setSetName] = useState("");
  const [indexName, setIndexName] = useState("");
  const [description, setDescription] = useState("");
  const navigate = useNavigate();
  const create = useMutation(EvaluateService.method.createQuestionSet, {
    onSuccess: (set) => {
      void refresh(EvaluateService);
      void navigate(setPath(set.setName));
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate({ setName, indexName, description });
  }
  return (
    <Modal opened={opened} onClose={onClose} title="Create a question set" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput label="Name" placeholder="support-chat" value={setName} onChange={(event) => setSetName(event.currentTarget.value)} required data-autofocus />
          <IndexSelect label="Index" description="Runs ask this one unless they name another." value={indexName} onChange={setIndexName} required />
          <Textarea label="Description" placeholder="Asked in the support chat" autosize minRows={2} value={description} onChange={(event) => setDescription(event.currentTarget.value)} dir="auto" />
          {create.isError && <ErrorView error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={create.isPending}>Create</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
