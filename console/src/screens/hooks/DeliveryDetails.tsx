import { Stack, Text } from "@mantine/core";
import { toJson } from "@bufbuild/protobuf";
import type { Delivery } from "@/gen/ragd/v1/hook_pb";
import { EventSchema } from "@/gen/ragd/v1/event_pb";
import { Code } from "@/ui/Code";
import { millis } from "@/ui/format";

/** DeliveryDetails shows what came of a delivery, and the event if it is there. */
export function DeliveryDetails({ delivery }: { delivery: Delivery }) {
  const { statusCode, durationMs, error, response, event, deliveryId } = delivery;
  return (
    <Stack gap="xs">
      <Text size="sm" role="status">{statusCode > 0 ? `HTTP ${statusCode}` : "No answer"} after {millis(durationMs)}. webhook-id: <code>{deliveryId}</code></Text>
      {error && <Text size="sm" c="red" dir="auto" style={{ overflowWrap: "anywhere" }}>{error}</Text>}
      {response && <><Text size="xs" c="dimmed">The answer begins with</Text><Code text={response} label="Copy the answer" /></>}
      {event && <><Text size="xs" c="dimmed">The event</Text><Code text={JSON.stringify(toJson(EventSchema, event), null, 2)} label="Copy the event" /></>}
    </Stack>
  );
}
