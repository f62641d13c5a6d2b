import { Button, Checkbox, Group, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { ErrorView } from "@/ui/ErrorView";
import { bytes } from "@/ui/format";
import { notifyDone } from "@/ui/notify";
import { exportTenant } from "./archive";

/** Export saves a tenant as an archive, which another service imports. */
export function Export({ tenantId }: { tenantId: string }) {
  const [withoutKeys, setWithoutKeys] = useState(false);
  const [arrived, setArrived] = useState<number>();
  const [error, setError] = useState<unknown>();
  const stop = useRef<AbortController>(null);
  useEffect(() => () => stop.current?.abort(), []);
  async function start() {
    const { signal } = (stop.current = new AbortController());
    setError(undefined);
    setArrived(0);
    try {
      await exportTenant(tenantId, withoutKeys, setArrived, signal);
      notifyDone(`Saved ${tenantId} as ${tenantId}.ragd.`);
    } catch (problem) {
      if (!signal.aborted) setError(problem);
    } finally {
      if (!signal.aborted) setArrived(undefined);
    }
  }
  return (
    <>
      <Text size="sm">Everything of the tenant in one file, as it is at one moment: documents, chunks, settings, keys. Keep it as you keep a backup.</Text>
      <Group gap="md">
        <Button variant="default" leftSection={<IconDownload size={16} />} loading={arrived !== undefined} onClick={() => void start()}>Save an archive</Button>
        <Checkbox label="Without API keys and issuers" checked={withoutKeys} onChange={(event) => setWithoutKeys(event.currentTarget.checked)} />
        {arrived !== undefined && <Text size="sm" c="dimmed" role="status">{bytes(arrived)} have arrived</Text>}
      </Group>
      {error !== undefined && <ErrorView error={error} />}
    </>
  );
}
