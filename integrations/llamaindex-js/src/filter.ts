import type { MetadataFilter, MetadataFilters } from "@llamaindex/core/vector-store";
import { invalid } from "../../vectors.mjs";

/** A filter over metadata, see docs/reference/filters.md. */
export type RagdFilter = Record<string, unknown>;

/** filterOf returns metadata filters of LlamaIndex as a filter of the service; undefined if there are none. */
export function filterOf(filters: MetadataFilters | undefined): RagdFilter | undefined {
  if (!filters || filters.filters.length === 0) return undefined;
  return { [filters.condition === "or" ? "$or" : "$and"]: filters.filters.map(condition) };
}

/** condition returns one metadata filter. Keys are those of the metadata, not paths. */
function condition({ key, value, operator }: MetadataFilter): RagdFilter {
  const field = key.replace(/\./g, "\\.").replace(/^\\*\$/, "\\$&");
  if (operator === "is_empty") return { $or: [{ [field]: null }, { [field]: "" }, { [field]: { $size: 0 } }] };
  if (value === undefined || value === null) throw invalid(`filters.${key}`, `the operator ${operator} needs a value`);
  switch (operator) {
    case "==":
      return { [field]: { $eq: value } };
    case "!=":
      return { [field]: { $ne: value } };
    case ">":
      return { [field]: { $gt: value } };
    case ">=":
      return { [field]: { $gte: value } };
    case "<":
      return { [field]: { $lt: value } };
    case "<=":
      return { [field]: { $lte: value } };
    case "in":
    case "any":
      return { [field]: { $in: list(key, operator, value) } };
    case "nin":
      return { [field]: { $nin: list(key, operator, value) } };
    case "all":
      return { [field]: { $all: list(key, operator, value) } };
    case "contains":
      return { [field]: { $in: [value] } };
    case "text_match":
      return { [field]: { $contains: String(value) } };
    default:
      throw invalid(`filters.${key}`, `the operator ${String(operator)} is unknown`);
  }
}

function list(key: string, operator: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw invalid(`filters.${key}`, `the operator ${operator} needs an array`);
  return value;
}
