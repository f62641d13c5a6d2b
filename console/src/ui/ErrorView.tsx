import { Alert, Button, List, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconLock, IconPlugConnectedX } from "@tabler/icons-react";
import { Code } from "@connectrpc/connect";
import { explain } from "./explain";

/** ErrorView shows an error of the service: what is wrong, which fields, and what to do. */
export function ErrorView({ error, retry }: { error: unknown; retry?: () => void }) {
  const { code, title, message, fields } = explain(error);
  const denied = code === Code.PermissionDenied;
  const icon = denied ? <IconLock /> : code === Code.Unavailable ? <IconPlugConnectedX /> : <IconAlertTriangle />;
  return (
    <Alert color={denied ? "yellow" : "red"} icon={icon} title={title} role="alert" maw="60rem">
      <Stack gap="xs" align="flex-start">
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>{message}</Text>
        {fields.length > 0 && (
          <List size="sm">
            {fields.map((field) => <List.Item key={field.field}><b>{field.field}</b>: {field.description}</List.Item>)}
          </List>
        )}
        {retry && !denied && <Button size="xs" variant="default" onClick={retry}>Try again</Button>}
      </Stack>
    </Alert>
  );
}
