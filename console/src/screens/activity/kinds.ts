import type { JsonObject } from "@bufbuild/protobuf";
import type { Event } from "@/gen/ragd/v1/event_pb";

/** kinds are the first words of the types of events, with what they tell of. */
export const kinds = [
  { value: "document", label: "Documents" },
  { value: "job", label: "Jobs" },
  { value: "index", label: "Indexes" },
  { value: "tool", label: "Calls of tools" },
  { value: "tools", label: "Definitions of tools" },
  { value: "prompts", label: "Prompts" },
  { value: "server", label: "MCP servers" },
  { value: "hook", label: "Hooks" },
  { value: "key", label: "Keys" },
  { value: "context", label: "Context keys" },
];

function text(data: JsonObject, key: string): string {
  const value = data[key];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** summary says in a line what an event is about. */
export function summary(event: Event): string {
  const data = event.data ?? {};
  const about = text(data, "uri") || text(data, "toolName") || text(data, "displayName") || text(data, "name") || text(data, "kind") || (data.count !== undefined ? `${text(data, "count")} documents` : "");
  const index = text(data, "indexName");
  const change = text(data, "change");
  const done = Number(data.total ?? 0) > 0 ? `${text(data, "done")} of ${text(data, "total")} ${text(data, "unit")}` : "";
  return [about, change, index && `in ${index}`, done].filter(Boolean).join(", ");
}

/** errorOf returns why what an event tells of has failed, or "". */
export function errorOf(event: Event): string {
  return text(event.data ?? {}, "error");
}

/** linkOf returns the page that shows what an event is about, or "". */
export function linkOf(event: Event): string {
  const data = event.data ?? {};
  const index = encodeURIComponent(text(data, "indexName"));
  const document = encodeURIComponent(text(data, "documentId"));
  if (event.type === "document.deleted") return index && `/indexes/${index}`;
  if (event.type.startsWith("document.") && index && document) return `/indexes/${index}/documents/${document}`;
  if (event.type.startsWith("job.")) return "/jobs";
  if (event.type === "index.changed" && data.change !== "deleted") return `/indexes/${encodeURIComponent(text(data, "name"))}`;
  return "";
}
