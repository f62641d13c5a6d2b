import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, type Field } from "./fields";

/** first are the names of arguments that matter most; the order of the properties of a schema is lost on the way. */
const first = ["queryText", "query", "question", "text", "title", "indexName", "uri", "documentId", "topK", "searchMode", "filter"];

/** shown is how many optional fields a form shows at first. */
const shown = 5;

/** fieldsOf makes the fields of a form from the JSON Schema of an object; the required ones first. */
export function fieldsOf(schema: JsonObject | undefined): Field[] {
  const properties = schema && isObject(schema.properties) ? schema.properties : {};
  const required = new Set(schema && Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(properties)
    .filter(([name]) => !name.includes(".")) // the form's paths have dots between names; JSON takes these
    .map(([name, property]) => fieldOf(name, isObject(property) ? property : {}, required.has(name)));
  const rank = ({ path, required }: Field) => (required ? 0 : 100) + (first.includes(path) ? first.indexOf(path) : 50);
  const sorted = fields.sort((a, b) => rank(a) - rank(b));
  return sorted.map((field, i) => ({ ...field, minor: !field.required && i >= fields.filter((f) => f.required).length + shown }));
}

function fieldOf(name: string, schema: JsonObject, required: boolean): Field {
  const title = typeof schema.title === "string" ? schema.title : "";
  const base = {
    path: name, label: title || name, required,
    about: typeof schema.description === "string" ? schema.description : undefined,
    placeholder: schema.default === undefined ? undefined : plain(schema.default),
  };
  if (Array.isArray(schema.enum) && schema.enum.every((value) => typeof value === "string")) {
    return { ...base, kind: "choice", choices: schema.enum as string[] };
  }
  switch (schema.type) {
    case "string":
      return { ...base, kind: "long" };
    case "boolean":
      return { ...base, kind: "yesno" };
    case "integer":
    case "number":
      return { ...base, kind: "number", integer: schema.type === "integer", min: number(schema.minimum), max: number(schema.maximum) };
    case "array":
      if (isObject(schema.items) && schema.items.type === "string") {
        const choices = Array.isArray(schema.items.enum) ? (schema.items.enum as string[]) : undefined;
        return { ...base, kind: "names", choices };
      }
  }
  return { ...base, kind: "json" };
}

function number(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function plain(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** standards returns the defaults of a schema's properties. */
export function standards(schema: JsonObject | undefined): JsonObject {
  const properties = schema && isObject(schema.properties) ? schema.properties : {};
  const values: JsonObject = {};
  for (const [name, property] of Object.entries(properties)) {
    if (isObject(property) && property.default !== undefined) values[name] = property.default;
  }
  return values;
}
