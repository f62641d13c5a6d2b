import type { MastraSupportedEmbeddingModel } from "@mastra/core/vector";
import { type ClientOptions, clientOf } from "../../vectors.mjs";

/** Settings of an embedding model. */
export type RagdEmbeddingOptions = {
  /** As endpoint/model. Default: the service's default model. */
  model?: string;
} & ClientOptions;

/**
 * ragdEmbedding returns an embedding model of the service in the form of the AI SDK, so that tools and
 * memory embed with the models that its indexes use.
 */
export function ragdEmbedding(options: RagdEmbeddingOptions): MastraSupportedEmbeddingModel<string> {
  const client = clientOf(options);
  const { model } = options;
  return {
    specificationVersion: "v2",
    provider: "ragd",
    modelId: model ?? "default",
    maxEmbeddingsPerCall: 2048,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal }) {
      return { embeddings: await client.embed(values, { model, signal: abortSignal }) };
    },
  };
}
