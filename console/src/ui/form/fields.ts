import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Field is an input of a Form, for a value in a JSON object. */
export interface Field {
  /** Where the value is: names with dots between them, such as settings.url. */
  path: string;
  label: string;
  about?: string;
  /**
   * text, long (a text of several lines), number, switch, yesno (which may be left open), choice,
   * names (a list of texts), lines (an object of texts, one "name: value" in a line), json,
   * allowed (all names, or chosen ones), list (of objects that have the fields of items).
   */
  kind: "text" | "long" | "number" | "switch" | "yesno" | "choice" | "names" | "lines" | "json" | "allowed" | "list";
  required?: boolean;
  placeholder?: string;
  /** What may be chosen, or is proposed. */
  choices?: string[];
  /** Of a switch: what holds without a value. */
  standard?: boolean;
  min?: number;
  max?: number;
  integer?: boolean;
  /** The value cannot be changed. */
  fixed?: boolean;
  /** Hidden until all fields are asked for, unless it has a value. */
  minor?: boolean;
  /** Whether the field is shown for an object. Default: always. */
  when?: (value: JsonObject) => boolean;
  items?: Field[];
  /** Of a list: what can be added. */
  adds?: { label: string; item: JsonObject }[];
}

/** isObject reports whether a JSON value is an object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** get returns the value at a path of an object. */
export function get(object: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of path.split(".")) value = isObject(value) ? value[name] : undefined;
  return value;
}

/** set returns the object with another value at a path; undefined removes what is there. */
export function set(object: JsonObject, path: string, value: JsonValue | undefined): JsonObject {
  const [name = "", ...rest] = path.split(".");
  const { [name]: old, ...others } = object;
  const next = rest.length > 0 ? set(isObject(old) ? old : {}, rest.join("."), value) : value;
  const empty = next === undefined || (rest.length > 0 && isObject(next) && Object.keys(next).length === 0);
  return empty ? others : { ...object, [name]: next };
}

/** parseObject reads a JSON object; an empty text is an empty object. It throws an error in words for people. */
export function parseObject(text: string): JsonObject {
  if (text.trim() === "") return {};
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (problem) {
    throw new Error(`This is not JSON yet: ${(problem as Error).message}`);
  }
  if (!isObject(value)) throw new Error('This must be a JSON object, such as {"name": "value"}.');
  return value;
}

/** Errors are descriptions of what is wrong, by the path of the field. */
export type Errors = Record<string, string>;

/** errorsOf arranges violations that the service reports by the path of their field; prefix is cut off. */
export function errorsOf(violations: { field: string; description: string }[], prefix = ""): Errors {
  const errors: Errors = {};
  for (const { field, description } of violations) {
    const path = field.replace(/\[(\w+)\]/g, ".$1");
    const key = prefix && path.startsWith(`${prefix}.`) ? path.slice(prefix.length + 1) : path;
    errors[key] = errors[key] ? `${errors[key]}; ${description}` : description;
  }
  return errors;
}

/** errorAt returns what is wrong at a path or below it. */
export function errorAt(errors: Errors, path: string): string | undefined {
  const below = Object.entries(errors).filter(([at]) => at === path || at.startsWith(`${path}.`));
  if (below.length === 0) return undefined;
  return below.map(([at, text]) => (at === path ? text : `${at.slice(path.length + 1)}: ${text}`)).join("; ");
}
