import type { LogicalOperatorValueMap, OperatorValueMap, VectorFilter } from "@mastra/core/vector/filter";

/** The operators of a field: those of Mastra, and $contains, $size and $startsWith. */
export interface RagdOperatorValueMap extends OperatorValueMap {
  /** Part of a text in upper or lower case; or values that an array has. */
  $contains: string | number | boolean | Array<string | number | boolean>;
  /** Length of an array. */
  $size: number | { $eq?: number; $ne?: number; $gt?: number; $gte?: number; $lt?: number; $lte?: number };
  /** Beginning of a text. */
  $startsWith: string;
}

/** A filter over metadata, see docs/reference/filters.md. */
export type RagdFilter = VectorFilter<keyof RagdOperatorValueMap, RagdOperatorValueMap, LogicalOperatorValueMap>;
