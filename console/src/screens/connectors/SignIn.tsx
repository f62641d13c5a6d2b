import { Alert, Button, Group, Text } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { IconExternalLink, IconKey } from "@tabler/icons-react";
import { ConnectorService, type Connector } from "@/gen/ragd/v1/connector_pb";
import { ErrorView } from "@/ui/ErrorView";
import { Time } from "@/ui/Time";

/** SignIn lets a user sign in at the server of a connector of an MCP server, now or anew. */
export function SignIn({ connector: { connectorName, authorization, source } }: { connector: Connector }) {
  const authorize = useMutation(ConnectorService.method.authorizeConnector);
  if (source.case !== "mcp" || source.value.oauth?.grant === "client_credentials") return null;
  if (authorization === "" && !authorize.data) return null;
  const begin = (label: string) => <Button size="xs" variant={authorization === "needed" ? "filled" : "default"} leftSection={<IconKey size={14} />} loading={authorize.isPending} onClick={() => authorize.mutate({ connectorName })}>{label}</Button>;
  const address = authorize.data?.authorizationUrl ?? "";
  if (authorization === "granted" && !address) return <Group gap="sm"><Text size="sm" c="dimmed">The connector is signed in at the server.</Text>{begin("Sign in anew")}{authorize.isError && <ErrorView error={authorize.error} />}</Group>;
  return (
    <Alert color="yellow" title={authorization === "needed" ? "A user has to sign in at the server" : "Sign in at the server"}>
      <Group gap="sm">
        {!address && begin("Sign in")}
        {/^https?:\/\//i.test(address) && (
          <>
            <Button size="xs" component="a" href={address} target="_blank" rel="noopener noreferrer" leftSection={<IconExternalLink size={14} />}>Open the sign-in page</Button>
            <Text size="sm">It works once, until <Time value={authorize.data?.expireTime} />. The connector runs afterwards, and this page shows it.</Text>
          </>
        )}
        {authorize.isError && <ErrorView error={authorize.error} />}
      </Group>
    </Alert>
  );
}
