import { Alert, Button, List, Text } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { Panel } from "@/ui/Page";

/** Reencrypt encrypts the secrets of all tenants with the first master key. */
export function Reencrypt() {
  const reencrypt = useMutation(TenantService.method.reencryptSecrets);
  return (
    <Panel title="Encrypt anew">
      <Text size="sm">Encrypts the secrets of all tenants with the first master key. Afterwards the other master keys are no longer needed. It may be repeated.</Text>
      <div><Button loading={reencrypt.isPending} onClick={() => reencrypt.mutate({})}>Encrypt all secrets anew</Button></div>
      {reencrypt.isError && <ErrorView error={reencrypt.error} />}
      {reencrypt.data && <Text size="sm" role="status">{plural(reencrypt.data.reencrypted, "secret")} encrypted with another key than before.</Text>}
      {reencrypt.data && reencrypt.data.lost.length > 0 && (
        <Alert color="red" title="No master key opens these">
          <List size="sm">{reencrypt.data.lost.map((name) => <List.Item key={name}>{name}</List.Item>)}</List>
        </Alert>
      )}
    </Panel>
  );
}
