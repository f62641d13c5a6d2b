import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { ErrorView } from "@/ui/ErrorView";

/** CreateIndex asks for the name of a new index, and opens it. */
export function CreateIndex({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [name, setName] = useState("");
  const [model, setModel] = useState("");
  const navigate = useNavigate();
  const create = useMutation(IndexService.method.createIndex, {
    onSuccess: (index) => {
      onClose(); // the way back does not lead to the dialog
      void navigate(`/indexes/${encodeURIComponent(index.indexName)}`);
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate({ indexName: name, embeddingModel: model });
  }
  return (
    <Modal opened={opened} onClose={onClose} title="Create an index">
      <form onSubmit={submit}>
        <Stack>
          <TextInput label="Name" placeholder="docs" value={name} onChange={(event) => setName(event.currentTarget.value)} required data-autofocus />
          <TextInput label="Embedding model" description="provider/model, such as openai/text-embedding-3-small. Empty: the default of the service." value={model} onChange={(event) => setModel(event.currentTarget.value)} />
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
