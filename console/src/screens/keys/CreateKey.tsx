import { Alert, Button, Group, JsonInput, Modal, NumberInput, Select, Stack, TagsInput, Text, TextInput } from "@mantine/core";
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { TenantService, type CreateApiKeyRequestSchema } from "@/gen/ragd/v1/tenant_pb";
import { Code } from "@/ui/Code";
import { ErrorView } from "@/ui/ErrorView";

const tenants = createClient(TenantService, transport);
const rights = [
  { value: "read", label: "read: search and read" },
  { value: "write", label: "write: also upload and change" },
  { value: "admin", label: "admin: also keys and access" },
];

/** CreateKey makes an API key and shows its secret, once. */
export function CreateKey({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [secret, setSecret] = useState("");
  const close = () => {
    setSecret("");
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={secret ? "The new key" : "Create an API key"} size="lg" closeOnClickOutside={!secret}>
      {secret ? <Secret secret={secret} onClose={close} /> : <Form onMade={setSecret} onClose={close} />}
    </Modal>
  );
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const { info } = useSession();
  return (
    <Stack>
      <Alert color="yellow" title="Copy it now">The service keeps only a hash of it, and cannot show it again.</Alert>
      <Code text={secret} label="Copy the key" />
      <Text size="sm">For programs of this machine:</Text>
      <Code text={`export RAGD_SERVER=${info.publicUrl || window.location.origin}\nexport RAGD_API_KEY=${secret}`} />
      <Group justify="flex-end"><Button onClick={onClose}>Done</Button></Group>
    </Stack>
  );
}

function Form({ onMade, onClose }: { onMade: (secret: string) => void; onClose: () => void }) {
  const { tenant } = useSession();
  const indexes = useQuery(IndexService.method.listIndexes, { pageSize: 1000 });
  const [name, setName] = useState("");
  const [scope, setScope] = useState("read");
  const [days, setDays] = useState<number | string>("");
  const [bound, setBound] = useState<{ indexes: string[]; tools: string[]; servers: string[] }>({ indexes: [], tools: [], servers: [] });
  const [origins, setOrigins] = useState<string[]>([]);
  const [filter, setFilter] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const names = (list: string[]) => (list.length > 0 ? { names: list } : undefined);
      const message: MessageInitShape<typeof CreateApiKeyRequestSchema> = {
        tenantId: tenant, displayName: name, scopes: [scope],
        expireTime: days === "" ? undefined : timestampFromDate(new Date(Date.now() + Number(days) * 86_400_000)),
        mandatoryFilter: filter.trim() === "" ? undefined : (JSON.parse(filter) as JsonObject),
        indexes: names(bound.indexes), tools: names(bound.tools), servers: names(bound.servers), origins,
      };
      const made = await tenants.createApiKey(message);
      await refresh(TenantService);
      onMade(made.secret);
    } catch (problem) {
      setError(problem instanceof SyntaxError ? new Error("The mandatory filter is not JSON.") : problem);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput label="Name" description="Who uses the key." value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
        <Select label="Scope" data={rights} value={scope} onChange={(value) => setScope(value ?? "read")} allowDeselect={false} />
        <NumberInput label="Expires after" description="Days; empty: never." min={1} value={days} onChange={setDays} suffix=" days" />
        <TagsInput label="Indexes" description="The key sees these alone. Empty: all." data={indexes.data?.indexes.map((index) => index.indexName) ?? []} value={bound.indexes} onChange={(value) => setBound({ ...bound, indexes: value })} />
        <TagsInput label="Tools" description="With tools or servers, the key may only call tools. Empty: no such bound." value={bound.tools} onChange={(value) => setBound({ ...bound, tools: value })} />
        <TagsInput label="MCP servers" value={bound.servers} onChange={(value) => setBound({ ...bound, servers: value })} />
        <JsonInput label="Mandatory filter" description={'And-ed with every read, such as {"team": "legal"}. Empty: none.'} autosize minRows={1} value={filter} onChange={setFilter} />
        <TagsInput label="Origins" description="For web pages: pages of these origins alone may use the key, such as https://docs.example.com. Needs the scope read and an index. Empty: for programs." value={origins} onChange={setOrigins} />
        {error !== undefined && <ErrorView error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>Cancel</Button>
          <Button type="submit" loading={busy}>Create</Button>
        </Group>
      </Stack>
    </form>
  );
}
