import { Embeddings, type EmbeddingsParams } from "@langchain/core/embeddings";
import type { Ragd } from "@ragd/client";
import { type ClientOptions, clientOf } from "../../vectors.mjs";

/** Settings of RagdEmbeddings. */
export type RagdEmbeddingsOptions = EmbeddingsParams & {
  /** As endpoint/model. Default: the service's default model. */
  model?: string;
} & ClientOptions;

/** Most texts of one request. */
const maxTexts = 2048;

/** RagdEmbeddings embeds with a model of the service. */
export class RagdEmbeddings extends Embeddings {
  readonly #client: Ragd;
  readonly #model: string | undefined;

  constructor(options: RagdEmbeddingsOptions) {
    super({ maxConcurrency: options.maxConcurrency, maxRetries: options.maxRetries ?? 0, onFailedAttempt: options.onFailedAttempt });
    this.#client = clientOf(options);
    this.#model = options.model;
  }

  /** Returns the embeddings of texts, in their order. */
  override async embedDocuments(texts: string[]): Promise<number[][]> {
    const embeddings: number[][] = [];
    for (let start = 0; start < texts.length; start += maxTexts) {
      const batch = texts.slice(start, start + maxTexts);
      embeddings.push(...(await this.caller.call(() => this.#client.embed(batch, { model: this.#model }))));
    }
    return embeddings;
  }

  /** Returns the embedding of a question. */
  override async embedQuery(text: string): Promise<number[]> {
    const [embedding] = await this.embedDocuments([text]);
    return embedding as number[];
  }
}
