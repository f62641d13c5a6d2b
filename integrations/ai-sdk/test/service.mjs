import { Ragd } from "@ragd/client";

export const agent = process.env.RAGD_TEST_AGENT;
export const client = new Ragd({ url: process.env.RAGD_SERVER, apiKey: process.env.RAGD_API_KEY });

/** harbour makes an index with documents, which is dropped when the test ends. */
export async function harbour(t) {
  const index = client.index(`ai-${crypto.randomUUID().slice(0, 8)}`);
  await index.create();
  t.after(() => index.drop());
  await index.upload("# Tides\n\nThe gate of lock L-17 opens two hours before high water.", { uri: "tides.md", metadata: { team: "harbour", year: 2024 } });
  await index.upload("# Ferry\n\nThe ferry waits at lock L-17 until the gate has opened.", { uri: "ferry.md", metadata: { team: "harbour", year: 2025 } });
  await index.upload("# Canteen\n\nThe cook rings a green bell at noon.", { uri: "canteen.md", metadata: { team: "kitchen", year: 2025 } });
  return index;
}
