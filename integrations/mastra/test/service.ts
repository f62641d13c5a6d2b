import { after } from "node:test";
import { Ragd } from "@ragd/client";
import { RagdVector, ragdEmbedding } from "@ragd/mastra";

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}`);
  return value;
}

export const client = new Ragd({ url: variable("RAGD_SERVER"), apiKey: variable("RAGD_API_KEY") });
export const store = new RagdVector({ client });
export const model = ragdEmbedding({ client });

const made: string[] = [];
after(() => Promise.all(made.map((indexName) => store.deleteIndex({ indexName }))));

/** newIndex returns the name of a new index, which is deleted after the tests. */
export async function newIndex(dimension = 4, settings: object = {}): Promise<string> {
  const indexName = `mastra_${process.pid}_${made.length}_${Date.now()}`;
  made.push(indexName);
  await store.createIndex({ indexName, dimension, ...settings });
  return indexName;
}

/** axis returns the unit vector of a coordinate. */
export function axis(coordinate: number, dimension = 4): number[] {
  return Array.from({ length: dimension }, (_, n) => (n === coordinate ? 1 : 0));
}

/** pseudoRandom returns a vector that the seed determines. */
export function pseudoRandom(seed: number, dimension = 4): number[] {
  let state = seed + 1;
  return Array.from({ length: dimension }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x3c6ef372;
    return state / 2 ** 31;
  });
}
