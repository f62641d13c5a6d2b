export { ragdEmbedding, type RagdEmbeddingOptions } from "./embedding.js";
export type { RagdFilter, RagdOperatorValueMap } from "./filter.js";
export {
  type RagdCreateIndexParams,
  type RagdDeleteManyParams,
  type RagdDeleteParams,
  type RagdIndexStats,
  type RagdQueryParams,
  type RagdUpdateParams,
  type RagdUpsertParams,
  RagdVector,
  type RagdVectorOptions,
} from "./vector.js";
