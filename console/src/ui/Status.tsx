import { Badge } from "@mantine/core";

const colors: Record<string, string> = {
  ready: "green", succeeded: "green", enabled: "green", active: "green", answers: "green", stored: "green", would_store: "green", done: "green",
  pending: "blue", queued: "blue", processing: "blue", running: "blue", building: "blue", copying: "blue", switching: "blue", dropping: "blue", waiting: "yellow", suspended: "yellow", paused: "yellow", "needs sign-in": "yellow",
  failed: "red", error: "red", failing: "orange", needs_ocr: "orange", cancelled: "gray", disabled: "gray", revoked: "gray", expired: "gray",
};

/** Status shows the status of a document, job or run. */
export function Status({ value }: { value: string }) {
  return <Badge variant="light" radius="sm" tt="none" miw="max-content" color={colors[value] ?? "gray"}>{value.replaceAll("_", " ")}</Badge>;
}
