import { after } from "node:test";
import { Ragd } from "@ragd/client";
import { RagdEmbedding } from "@ragd/llamaindex";

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}`);
  return value;
}

export const client = new Ragd({ url: variable("RAGD_SERVER"), apiKey: variable("RAGD_API_KEY") });
export const embedModel = new RagdEmbedding({ client });

const made: string[] = [];
after(() => Promise.all(made.map((name) => client.index(name).drop().catch(() => undefined))));

/** newName returns the name of an index that does not exist yet, and is deleted after the tests. */
export function newName(): string {
  const name = `llamaindex_${process.pid}_${made.length}_${Date.now()}`;
  made.push(name);
  return name;
}
