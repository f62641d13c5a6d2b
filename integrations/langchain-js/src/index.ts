export { RagdLoader, type RagdLoaderOptions, uploadDocuments, type UploadDocumentsOptions } from "./documents.js";
export { RagdEmbeddings, type RagdEmbeddingsOptions } from "./embeddings.js";
export { RagdRetriever, type RagdRetrieverOptions } from "./retriever.js";
export { type RagdDeleteParams, type RagdFilter, RagdVectorStore, type RagdVectorStoreOptions } from "./vectorstore.js";
