import type { JsonObject } from "@bufbuild/protobuf";

/** quotas are the settings of a tenant that the service knows, with what they limit. */
export const quotas: { key: string; label: string; about: string; most?: number }[] = [
  { key: "maxIndexes", label: "Indexes", about: "How many indexes the tenant may have." },
  { key: "requestsPerSecond", label: "Requests per second", about: "On each instance; bursts may be twice as large." },
  { key: "concurrentRequests", label: "Requests at once", about: "On each instance, without streams." },
  { key: "maxDocuments", label: "Documents", about: "How many the tenant may have.", most: 1e12 },
  { key: "maxDocumentBytes", label: "Bytes of documents", about: "As they were uploaded, together.", most: 1e15 },
  { key: "maxTokensPerMonth", label: "Tokens in a month", about: "That models may read and write for it.", most: 1e12 },
];

/** Quotas are the values of quotas; "" stands for the standard of the service. */
export type Quotas = Record<string, number | "">;

/** split separates the quotas in a tenant's settings from its other settings. */
export function split(settings: JsonObject = {}): { limits: Quotas; others: JsonObject } {
  const others = { ...settings };
  const limits: Quotas = {};
  for (const { key } of quotas) {
    const value = others[key];
    limits[key] = typeof value === "number" ? value : "";
    if (typeof value === "number") delete others[key];
  }
  return { limits, others };
}

/** join makes settings of quotas and other settings; quotas that are "" are left out. */
export function join(limits: Quotas, others: JsonObject): JsonObject {
  const set = Object.entries(limits).filter((entry): entry is [string, number] => entry[1] !== "");
  return { ...others, ...Object.fromEntries(set) };
}

/** parseObject reads a JSON object; an empty text is an empty object. It throws an error in words for people. */
export function parseObject(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("Must be a JSON object, such as {\"plan\": \"large\"}.");
  return value as JsonObject;
}
