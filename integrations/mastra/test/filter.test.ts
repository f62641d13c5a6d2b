import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { RagdFilter } from "@ragd/mastra";
import { newIndex, pseudoRandom, store } from "./service.ts";

const boats = [
  { name: "Alk", price: 10, rating: 4.5, kind: "sail", tags: ["new", "sale"], free: true, built: "2001-05-01" },
  { name: "Brage", price: 25, rating: 3.8, kind: "sail", tags: ["classic"], free: true, built: "2010-01-01" },
  { name: "Corvus", price: 50, rating: 4.9, kind: "motor", tags: ["fast", "sale"], free: false, built: "2020-12-31" },
  { name: "Dolly", price: 100, rating: 4.2, kind: "motor", tags: ["fast"], free: true, maker: { site: { country: "NO" } } },
  { name: "Eos", price: null, rating: 3.5, kind: "row", tags: [], free: false, note: "Leaks 100% a_bit" },
  { name: "Freja", price: 200, rating: 4.95, kind: "motor", tags: ["fast", "new"], free: true, trips: [{ miles: 5, port: "Oslo" }, { miles: 40, port: "Moss" }] },
];

const cases: Array<[what: string, filter: RagdFilter, names: string]> = [
  ["null, which selects all", null, "ABCDEF"],
  ["an empty filter", {}, "ABCDEF"],
  ["a text", { kind: "sail" }, "AB"],
  ["a number", { price: 50 }, "C"],
  ["a boolean", { free: false }, "CE"],
  ["a list, which is $in", { kind: ["sail", "row"] }, "ABE"],
  ["$eq", { kind: { $eq: "row" } }, "E"],
  ["$ne", { kind: { $ne: "motor" } }, "ABE"],
  ["$ne of a boolean", { free: { $ne: true } }, "CE"],
  ["null, for missing and null", { price: null }, "E"],
  ["$ne null", { price: { $ne: null } }, "ABCDF"],
  ["$gt and $lte", { price: { $gt: 10, $lte: 100 } }, "BCD"],
  ["$gte", { rating: { $gte: 4.5 } }, "ACF"],
  ["$lt", { rating: { $lt: 3.8 } }, "E"],
  ["dates", { built: { $gte: new Date("2010-01-01T00:00:00Z") } }, "C"],
  ["texts in order", { built: { $gte: "2010-01-01" } }, "BC"],
  ["$in of an array", { tags: { $in: ["new", "classic"] } }, "ABF"],
  ["$nin", { kind: { $nin: ["sail", "motor"] } }, "E"],
  ["an empty $in", { kind: { $in: [] } }, ""],
  ["$all", { tags: { $all: ["fast", "new"] } }, "F"],
  ["$size", { tags: { $size: 2 } }, "ACF"],
  ["$elemMatch", { trips: { $elemMatch: { miles: { $gt: 10, $lt: 50 }, port: "Moss" } } }, "F"],
  ["$elemMatch on one element only", { trips: { $elemMatch: { miles: { $gt: 10 }, port: "Oslo" } } }, ""],
  ["$exists", { trips: { $exists: true } }, "F"],
  ["$exists false", { trips: { $exists: false } }, "ABCDE"],
  ["a path", { "maker.site.country": "NO" }, "D"],
  ["a nested object", { maker: { site: { country: "NO" } } } as RagdFilter, "D"],
  ["$regex", { name: { $regex: "^[A-C]" } }, "ABC"],
  ["$regex with $options", { name: { $regex: "^[a-c]", $options: "i" } }, "ABC"],
  ["$regex with flags inside", { kind: { $regex: "(?i)^SAIL$" } }, "AB"],
  ["a RegExp", { name: /^[a-c]/i } as RagdFilter, "ABC"],
  ["a RegExp in $regex", { name: { $regex: /^[a-c]/i } }, "ABC"],
  ["$contains, letter by letter", { note: { $contains: "100% A_BIT" } }, "E"],
  ["$startsWith", { name: { $startsWith: "Do" } }, "D"],
  ["$and", { $and: [{ kind: "motor" }, { free: true }] }, "DF"],
  ["$or", { $or: [{ kind: "row" }, { price: { $lt: 20 } }] }, "AE"],
  ["$nor", { $nor: [{ kind: "sail" }, { kind: "row" }] }, "CDF"],
  ["an empty $nor", { $nor: [] }, "ABCDEF"],
  ["an empty $or", { $or: [] }, ""],
  ["$not below a field", { rating: { $not: { $gte: 4, $lt: 4.9 } } }, "BCEF"],
  ["$not $ne", { kind: { $not: { $ne: "sail" } } }, "AB"],
  ["$not $exists", { note: { $not: { $exists: true } } }, "ABCDF"],
  ["$not of a filter", { $not: { $or: [{ kind: "motor" }, { free: false }] } }, "AB"],
  ["logical operators beside fields", { $or: [{ kind: "sail" }, { kind: "motor" }], free: true, price: { $gte: 25 } }, "BDF"],
  ["branches with several fields", { $or: [{ kind: "motor", free: false }, { kind: "sail", price: 25 }] }, "BC"],
];

describe("filters", () => {
  let indexName: string;
  before(async () => {
    indexName = await newIndex();
    await store.upsert({ indexName, vectors: boats.map((_, n) => pseudoRandom(n)), metadata: boats });
  });

  for (const [what, filter, names] of cases) {
    it(`select by ${what}`, async () => {
      const results = await store.query({ indexName, queryVector: pseudoRandom(1), filter, topK: 100 });
      assert.equal(results.map((result) => (result.metadata?.name as string)[0]).sort().join(""), names);
    });
  }

  const wrong: Array<[filter: object, message: RegExp]> = [
    [{ price: { $near: 10 } }, /Unsupported operator: \$near/],
    [{ $near: 10 }, /Unsupported operator: \$near/],
    [{ price: { $gt: [10, 20] } }, /\$gt/],
    [{ $and: "all" }, /\$and/],
    [{ $or: {} }, /\$or/],
    [{ price: { $not: {} } }, /\$not/],
    [{ kind: undefined }, /kind is undefined/],
    [{ kind: { $in: ["sail", undefined] } }, /undefined/],
    [{ price: { $gt: Number.NaN } }, /not a finite number/],
  ];
  for (const [filter, message] of wrong) {
    it(`refuse ${JSON.stringify(filter)}`, async () => {
      await assert.rejects(store.query({ indexName, queryVector: pseudoRandom(1), filter: filter as RagdFilter }), (error: Error) => {
        assert.match(error.message, message);
        return true;
      });
    });
  }
});
