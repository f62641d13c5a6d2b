import { Alert, Button, Checkbox, FileInput, Group, List, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { Link } from "react-router";
import { refresh } from "@/app/queries";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import type { ImportTenantResponse } from "@/gen/ragd/v1/archive_pb";
import { ErrorView } from "@/ui/ErrorView";
import { count } from "@/ui/format";
import { importTenant } from "./archive";

/** ImportTenant makes a tenant from an archive, and says what was stored and what was not. */
export function ImportTenant({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [tenantId, setTenantId] = useState("");
  const [withoutKeys, setWithoutKeys] = useState(false);
  const stop = useRef<AbortController>(null);
  const load = useMutation({
    mutationFn: (file: File) => importTenant(file, { tenantId: tenantId.trim(), withoutKeys }, (stop.current = new AbortController()).signal),
    onSuccess: () => refresh(TenantService),
  });
  useEffect(() => () => stop.current?.abort(), []);
  const close = () => {
    stop.current?.abort();
    load.reset();
    setFile(null);
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (file) load.mutate(file);
  };
  return (
    <Modal opened={opened} onClose={close} title="Import an archive" closeOnClickOutside={!load.isPending}>
      {load.data ? <Imported answer={load.data} onClose={close} /> : (
        <form onSubmit={submit}>
          <Stack>
            <FileInput label="Archive" description="A file that this page or ragd export has saved." placeholder="Choose a file" accept=".ragd" required value={file} onChange={setFile} />
            <TextInput label="Id of the tenant" description="Empty: that in the archive. Under another id keys, issuers and usage are left out, hooks are disabled and connectors are paused." value={tenantId} onChange={(event) => setTenantId(event.currentTarget.value)} />
            <Checkbox label="Without API keys and issuers" checked={withoutKeys} onChange={(event) => setWithoutKeys(event.currentTarget.checked)} />
            {load.isError && <ErrorView error={load.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>Cancel</Button>
              <Button type="submit" loading={load.isPending} disabled={!file}>Import</Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function Imported({ answer, onClose }: { answer: ImportTenantResponse; onClose: () => void }) {
  const tenantId = answer.tenant?.tenantId ?? "";
  return (
    <Stack>
      <Text size="sm">The tenant <Link to={`/tenants/${encodeURIComponent(tenantId)}`}>{tenantId}</Link> was made, with {answer.rows.map(({ kind, count: n }) => `${count(n)} ${kind}`).join(", ") || "nothing in it"}.</Text>
      {answer.leftOut.length > 0 && <Alert color="yellow" title="Left out"><List size="sm">{answer.leftOut.map(({ kind, count: n, reason }) => <List.Item key={kind}>{count(n)} {kind}: {reason}</List.Item>)}</List></Alert>}
      {answer.lostSecrets.length > 0 && <Alert color="yellow" title="These must be given again">{answer.lostSecrets.join(", ")}: this service has another master key.</Alert>}
      <Group justify="flex-end"><Button onClick={onClose}>Done</Button></Group>
    </Stack>
  );
}
