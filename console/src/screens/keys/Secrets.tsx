import { Button, Group, Modal, PasswordInput, Skeleton, Stack, Switch, TagsInput, TextInput } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { transport } from "@/app/transport";
import { SecretService, type Secret } from "@/gen/ragd/v1/secret_pb";
import { Code } from "@/ui/Code";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { notifyDone } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

const secrets = createClient(SecretService, transport);

/** Secrets lists the secrets that tools send to other services, sets and deletes them. Values are never shown. */
export function Secrets() {
  const list = useQuery(SecretService.method.listSecrets, { pageSize: 1000 });
  const [editing, setEditing] = useState<string>(); // the name, "" for a new one
  const [deleting, setDeleting] = useState("");
  const actions: Column<Secret> = {
    head: "",
    narrow: true,
    cell: ({ secretName }) => (
      <Group gap={4} wrap="nowrap">
        <Button size="compact-xs" variant="default" onClick={() => setEditing(secretName)}>Replace</Button>
        <Button size="compact-xs" variant="light" color="red" aria-label={`Delete ${secretName}`} onClick={() => setDeleting(secretName)}>Delete</Button>
      </Group>
    ),
  };
  return (
    <Panel title="Secrets" actions={<Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setEditing("")}>Set a secret</Button>}>
      {list.isPending && <Skeleton h={60} />}
      {list.isError && <ErrorView error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && list.data.secrets.length === 0 && <Empty title="No secrets yet">Tools that call other services name a secret instead of holding a key.</Empty>}
      {list.isSuccess && list.data.secrets.length > 0 && <Table label="Secrets" columns={[...columns, actions]} rows={list.data.secrets} id={(secret) => secret.secretName} />}
      <Modal opened={editing !== undefined} onClose={() => setEditing(undefined)} title="Set a secret">{editing !== undefined && <Form name={editing} onDone={() => setEditing(undefined)} />}</Modal>
      <Confirm opened={deleting !== ""} onClose={() => setDeleting("")} title={`Delete ${deleting}?`} action="Delete" onConfirm={async () => {
        await secrets.deleteSecret({ secretName: deleting });
        await refresh(SecretService);
      }}>
        Tools that use it fail from now on.
      </Confirm>
    </Panel>
  );
}

const columns: Column<Secret>[] = [
  { head: "Name", cell: (secret) => secret.secretName },
  { head: "Sent to", cell: (secret) => secret.hosts.join(", ") || "any host" },
  { head: "Changed", cell: (secret) => <Time value={secret.updateTime} />, narrow: true },
];

function Form({ name, onDone }: { name: string; onDone: () => void }) {
  const [secretName, setSecretName] = useState(name);
  const [value, setValue] = useState("");
  const [hosts, setHosts] = useState<string[]>([]);
  const [generate, setGenerate] = useState(false);
  const [made, setMade] = useState("");
  const [error, setError] = useState<unknown>();
  async function submit(event: FormEvent) {
    event.preventDefault();
    setError(undefined);
    try {
      const answer = await secrets.setSecret({ secretName, value: generate ? "" : value, generate, hosts: hosts.length > 0 ? { hosts } : undefined });
      await refresh(SecretService);
      if (answer.generatedValue) {
        setMade(answer.generatedValue);
        return;
      }
      notifyDone(`${secretName} is set.`);
      onDone();
    } catch (problem) {
      setError(problem);
    }
  }
  if (made) return <Stack><span>The value, which is shown this once:</span><Code text={made} /><Group justify="flex-end"><Button onClick={onDone}>Done</Button></Group></Stack>;
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput label="Name" value={secretName} disabled={name !== ""} onChange={(event) => setSecretName(event.currentTarget.value)} required data-autofocus />
        <Switch label="Generate a signing secret of Standard Webhooks" checked={generate} onChange={(event) => setGenerate(event.currentTarget.checked)} />
        {!generate && <PasswordInput label="Value" description="Stored encrypted, and never shown." autoComplete="off" value={value} onChange={(event) => setValue(event.currentTarget.value)} required />}
        <TagsInput label="Hosts that may receive it" description={name ? "Empty: those that it has." : "Such as api.example.com. Empty: any."} value={hosts} onChange={setHosts} />
        {error !== undefined && <ErrorView error={error} />}
        <Group justify="flex-end"><Button type="submit">Save</Button></Group>
      </Stack>
    </form>
  );
}
