export { RagdEmbedding, type RagdEmbeddingOptions } from "./embedding.js";
export type { RagdFilter } from "./filter.js";
export { RagdRetriever, type RagdRetrieverOptions } from "./retriever.js";
export { type RagdQueryParams, RagdVectorStore, type RagdVectorStoreOptions } from "./vectorstore.js";
