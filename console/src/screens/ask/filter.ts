import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Condition is a condition of a filter: a field, an operator and a value. */
export interface Condition {
  field: string;
  operator: string;
  /** JSON, or a text. */
  value: string;
}

export const operators = [
  { value: "$eq", label: "is" },
  { value: "$ne", label: "is not" },
  { value: "$in", label: "is one of" },
  { value: "$contains", label: "contains" },
  { value: "$startsWith", label: "starts with" },
  { value: "$gt", label: ">" },
  { value: "$gte", label: "≥" },
  { value: "$lt", label: "<" },
  { value: "$lte", label: "≤" },
  { value: "$exists", label: "exists" },
];

/** conditionsOf returns the conditions of a filter that is a conjunction of simple ones, else undefined. */
export function conditionsOf(filter: string): Condition[] | undefined {
  if (filter.trim() === "") return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(filter);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
  const out: Condition[] = [];
  for (const [field, test] of Object.entries(parsed as JsonObject)) {
    if (field.startsWith("$") && field !== "$uri") return undefined;
    if (typeof test !== "object" || test === null || Array.isArray(test)) {
      out.push({ field, operator: Array.isArray(test) ? "$in" : "$eq", value: written(test) });
      continue;
    }
    for (const [operator, value] of Object.entries(test)) {
      if (!operators.some((known) => known.value === operator)) return undefined;
      out.push({ field, operator, value: written(value) });
    }
  }
  return out;
}

/** filterOf returns the filter that says the conditions, as JSON. Those without a field are left out. */
export function filterOf(conditions: Condition[]): string {
  const filter: JsonObject = {};
  for (const { field, operator, value } of conditions) {
    if (!field) continue;
    filter[field] = { ...(filter[field] as JsonObject | undefined), [operator]: read(operator, value) };
  }
  return Object.keys(filter).length > 0 ? JSON.stringify(filter) : "";
}

function written(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** read returns the value that a text stands for: JSON if it is a number, boolean or list, else the text. */
function read(operator: string, text: string): JsonValue {
  if (operator === "$in" && !text.trim().startsWith("[")) return text.split(",").map((item) => read("$eq", item.trim()));
  if (operator === "$exists") return text !== "false";
  if (operator === "$contains" || operator === "$startsWith") return text;
  try {
    const value = JSON.parse(text) as JsonValue;
    return typeof value === "string" ? text : value;
  } catch {
    return text;
  }
}

/** chosenIn returns the values that a filter allows for a field; none for all, undefined if it says something else of the field. */
export function chosenIn(filter: string, field: string): JsonValue[] | undefined {
  const conditions = conditionsOf(filter);
  if (conditions === undefined) return undefined;
  const test = filter.trim() === "" ? undefined : (JSON.parse(filter) as JsonObject)[field];
  if (test === undefined) return [];
  if (Array.isArray(test)) return test;
  if (typeof test !== "object" || test === null) return [test];
  const [operator, ...more] = Object.keys(test);
  if (more.length > 0) return undefined;
  if (operator === "$eq") return [test.$eq!];
  return operator === "$in" && Array.isArray(test.$in) ? test.$in : undefined;
}

/** toggled returns the filter that allows one value of a field more, or less; it is one for which chosenIn returns values. */
export function toggled(filter: string, field: string, value: JsonValue): string {
  const { [field]: _, ...others } = filter.trim() === "" ? {} : (JSON.parse(filter) as JsonObject);
  const before = chosenIn(filter, field) ?? [];
  const now = before.includes(value) ? before.filter((other) => other !== value) : [...before, value];
  const next: JsonObject = now.length === 0 ? others : { ...others, [field]: now.length === 1 ? { $eq: now[0]! } : { $in: now } };
  return Object.keys(next).length > 0 ? JSON.stringify(next) : "";
}

/** Field is a metadata field that documents have, with some of its values. */
export interface Field {
  name: string;
  description?: string;
  values: string[];
}

/** fieldsOf collects the fields and values in metadata; those of objects have their path as name. */
export function fieldsOf(all: JsonObject[]): Field[] {
  const found = new Map<string, Set<string>>();
  const visit = (value: JsonValue, path: string) => {
    if (Array.isArray(value)) {
      for (const item of value.slice(0, 20)) visit(item, path);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) visit(inner, path ? `${path}.${name.replaceAll(".", "\\.")}` : name.replaceAll(".", "\\."));
    } else if (path) {
      const values = found.get(path) ?? new Set();
      found.set(path, values);
      const text = written(value);
      if (values.size < 50 && text.length <= 100) values.add(text);
    }
  };
  for (const metadata of all) visit(metadata, "");
  return [...found].map(([name, values]) => ({ name, values: [...values].toSorted() })).toSorted((a, b) => a.name.localeCompare(b.name));
}
