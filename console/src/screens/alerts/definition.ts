import { create, type JsonObject } from "@bufbuild/protobuf";
import { UpdateAlertRequestSchema, type Alert, type CreateAlertRequest, type UpdateAlertRequest } from "@/gen/ragd/v1/alert_pb";
import type { Field } from "@/ui/form/fields";

/** alertFields are the fields of an alert's definition. */
export function alertFields({ stored, indexes }: { stored: boolean; indexes: string[] }): Field[] {
  return [
    { path: "displayName", label: "Name", kind: "text", placeholder: "Late ferries" },
    { path: "indexName", label: "Index", kind: "choice", choices: indexes, required: true, fixed: stored },
    { path: "queryText", label: "Question", kind: "long", required: true, about: "Every new passage of the index is compared with it.", placeholder: "ferries that are late" },
    { path: "searchMode", label: "A passage matches that has", kind: "choice", choices: ["hybrid", "keyword", "vector"], placeholder: "hybrid", about: "hybrid: a term of the question and the least similarity. keyword: all terms. vector: the least similarity." },
    { path: "minScore", label: "Least similarity", kind: "number", placeholder: "0.4", about: "The preview shows how similar passages are that should match.", when: isScored },
    { path: "filter", label: "Filter", kind: "json", placeholder: '{"team": "legal"}', about: "Only passages whose metadata it selects." },
    { path: "namespace", label: "Namespace", kind: "text", placeholder: "default", fixed: stored },
  ];
}

/** isScored reports whether passages need a least similarity to match an alert. */
function isScored(alert: JsonObject): boolean {
  return alert.searchMode !== "keyword";
}

/** updateAlert returns the request that makes a stored alert what the definition says. */
export function updateAlert(alertId: string, { displayName, queryText, searchMode, minScore, filter }: CreateAlertRequest): UpdateAlertRequest {
  const scored = searchMode === "keyword" ? {} : { minScore };
  return create(UpdateAlertRequestSchema, { alertId, displayName, queryText, searchMode: searchMode || "hybrid", filter: filter ?? {}, ...scored });
}

/** nameOf returns what an alert is called: its question, if it has no name. */
export function nameOf(alert: Alert): string {
  return alert.displayName || alert.queryText;
}

/** state returns the word for how an alert is. */
export function state(alert: Alert): string {
  if (alert.endedReason) return "ended";
  return alert.paused ? "paused" : "active";
}
