import { create } from "@bufbuild/protobuf";
import { UpdateHookRequestSchema, type CreateHookRequest, type Hook, type UpdateHookRequest } from "@/gen/ragd/v1/hook_pb";
import type { Field } from "@/ui/form/fields";

/** types are the types of events that a form proposes. */
const types = [
  "*", "document.*", "document.ready", "document.failed", "document.deleted", "document.restored", "job.*", "job.queued", "job.started", "job.succeeded", "job.failed", "job.cancelled",
  "tool.*", "tool.input", "tool.output", "tool.error", "key.*", "key.created", "key.revoked", "quota.*", "quota.warning", "index.changed", "tools.changed", "prompts.changed", "server.changed", "context.changed", "hook.changed", "alert.matched",
];

/** hookFields are the fields of a hook's definition. */
export function hookFields({ stored, tools, indexes }: { stored: boolean; tools: string[]; indexes: string[] }): Field[] {
  return [
    { path: "hookName", label: "Name", kind: "text", about: "1 to 64 letters, digits, _ and -.", placeholder: "ingest", required: true, fixed: stored },
    { path: "url", label: "Address", kind: "text", about: "Events are posted there. It must be public, unless the operator allows others.", placeholder: "https://example.com/ragd", required: true },
    { path: "events", label: "Events", kind: "names", choices: types, about: "Types of events, such as document.ready, document.* or *.", required: true },
    { path: "description", label: "Description", kind: "text" },
    { path: "indexes", label: "Indexes", kind: "names", choices: indexes, about: "Only events about these indexes, and events that are about no index.", placeholder: "All" },
    { path: "tools", label: "Tools", kind: "names", choices: tools, about: "Of the events of tools, only those of these tools.", placeholder: "All" },
    { path: "includeContent", label: "Send content", kind: "switch", standard: true, about: "Arguments and results of tools, and metadata of documents." },
    { path: "enabled", label: "Enabled", kind: "switch", standard: true },
    { path: "headers", label: "Headers", kind: "lines", about: "One in a line. Keys belong into secrets.", placeholder: "Authorization: Bearer {{secrets.audit}}" },
    { path: "maxPayloadBytes", label: "The most bytes of a delivery", kind: "number", integer: true, placeholder: "65,536", about: "From 1,024 to 262,144. What is larger is shortened." },
  ];
}

/** standardBytes is the default of the most bytes of a delivery. */
const standardBytes = 65_536;

/** updateHook returns the request that makes a stored hook what the definition says. */
export function updateHook(hook: CreateHookRequest): UpdateHookRequest {
  const { hookName, url, events, description, includeContent = true, enabled = true } = hook;
  return create(UpdateHookRequestSchema, {
    hookName, url, events, description, includeContent, enabled,
    maxPayloadBytes: hook.maxPayloadBytes || standardBytes,
    tools: { names: hook.tools }, indexes: { names: hook.indexes }, headers: { headers: hook.headers },
  });
}

/** state returns the word for how a hook is. */
export function state(hook: Hook): string {
  if (!hook.enabled) return "disabled";
  return hook.failures > 0 ? "failing" : "enabled";
}
