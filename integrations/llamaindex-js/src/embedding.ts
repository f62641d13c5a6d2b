import { BaseEmbedding } from "@llamaindex/core/embeddings";
import type { Ragd } from "@ragd/client";
import { type ClientOptions, clientOf } from "../../vectors.mjs";

/** Settings of a RagdEmbedding. */
export type RagdEmbeddingOptions = {
  /** As endpoint/model. Default: the service's default model. */
  model?: string;
  /** Texts of one request, at most 2048. Default: 256. */
  embedBatchSize?: number;
} & ClientOptions;

/** RagdEmbedding embeds with a model of the service. */
export class RagdEmbedding extends BaseEmbedding {
  readonly #client: Ragd;
  readonly #model: string | undefined;

  constructor(options: RagdEmbeddingOptions) {
    super();
    this.#client = clientOf(options);
    this.#model = options.model;
    this.embedBatchSize = options.embedBatchSize ?? 256;
  }

  /** Returns the embedding of a text. */
  override async getTextEmbedding(text: string): Promise<number[]> {
    const [embedding] = await this.getTextEmbeddings([text]);
    return embedding as number[];
  }

  /** Returns the embeddings of texts, in their order, by one request. */
  override getTextEmbeddings = async (texts: string[]): Promise<number[][]> => {
    return texts.length === 0 ? [] : this.#client.embed(texts, { model: this.#model });
  };
}
