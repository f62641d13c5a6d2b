// Checked by the compiler as an ESM program, and with the other extension as a CommonJS one.
import { JobError, Ragd, RagdError, type Source } from "@ragd/client";
import { TenantService } from "@ragd/client/api";
import { uploadFolder } from "@ragd/client/node";

export async function program(): Promise<Source[]> {
  const client = new Ragd({ url: "http://127.0.0.1:8484", apiKey: async () => "key", context: { topK: 3 } });
  const index = client.index("docs");
  await index.create({ embeddingModel: "builtin/hash-512", graph: { edgeTypes: ["mention"] } });
  await uploadFolder(index, "handbook", { metadata: { team: "harbour", year: 2026 }, onProgress: ({ sent, files }) => console.log(sent / files) });
  try {
    const { sources, relevantContext } = await index.query("when?", { filter: { team: { $in: ["harbour"] } }, reranker: { weights: { semantic: 1 } }, signal: AbortSignal.timeout(1000) });
    relevantContext.toUpperCase();
    for await (const event of client.ask("pilot", "when?")) if (event.type === "answer") event.answer.citations.map(({ uri }) => uri);
    const me: string = (await client.rpc(TenantService).whoAmI({})).tenantId;
    console.log(me);
    // @ts-expect-error: no such mode
    await index.query("when?", { mode: "psychic" });
    return sources;
  } catch (error) {
    if (error instanceof JobError) console.log(error.job.status);
    if (error instanceof RagdError && error.code === "not_found") return [];
    throw error;
  }
}
