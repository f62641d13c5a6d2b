import assert from "node:assert/strict";
import test from "node:test";
import { accessible, frames, harmless, hostile, newTenant, openPage, operator, upload } from "./console.mjs";

// Each names the next, and the question names only the film.
const chain = {
  "film.md": "# Dark River\n\nIt was directed by Clio Barnard after a novel.\n",
  "director.md": "# Clio Barnard\n\nShe grew up near Otley and paints.\n",
  "town.md": "# Otley\n\nA market place on the Wharfe.\n",
  "cheese.md": "# Cheese\n\nCheese ripens in cellars for months.\n",
};
const question = "Who made Dark River?";
const address = (settings = {}) => `/graph?${new URLSearchParams({ index: "films", question, mode: "keyword", ...settings })}`;
const drawn = (page) => page.locator('[role="img"][data-state="still"]').waitFor();

test("the walk of a question is drawn, listed and explained", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "films", chain);
  const page = await openPage(t, { key: tenant.secret, path: "/graph" });
  await page.getByText("Ask a question").waitFor();
  await accessible(page);
  await page.getByLabel("Question").fill(question);
  await page.getByRole("button", { name: "Walk" }).click();
  await page.waitForURL(/question=Who\+made/);
  await drawn(page);
  const sources = page.getByRole("list", { name: "Sources" }).getByRole("listitem");
  assert.deepEqual((await sources.getByRole("button").allTextContents()).map((name) => name.split(" · ")[0]).slice(0, 3), ["Dark River", "Clio Barnard", "Otley"]);
  await sources.nth(2).getByText('names "Clio Barnard" → Clio Barnard, names "Otley" → Otley').waitFor();
  await accessible(page);

  await sources.nth(2).getByRole("button").click();
  const chosen = page.getByRole("region", { name: "Chunk 0 of Otley" });
  await chosen.getByText("2 steps away").waitFor();
  await chosen.getByText("A market place on the Wharfe.").waitFor();
  assert.match(page.url(), /chunk=/);
  await accessible(page);

  await chosen.getByRole("button", { name: /^Clio Barnard/ }).first().click(); // along a link
  await page.getByRole("region", { name: "Chunk 0 of Clio Barnard" }).waitFor();
  const link = await page.getByRole("link", { name: "Open in the document" }).getAttribute("href");
  assert.match(link, /^\/indexes\/films\/documents\/[0-9a-f-]+\?chunk=0$/);

  await page.reload(); // everything stands in the address
  await page.getByRole("region", { name: "Chunk 0 of Clio Barnard" }).waitFor();
  await page.getByRole("tab", { name: /Chunks/ }).click();
  await page.getByRole("region", { name: "Chunks" }).getByRole("row").nth(3).waitFor();
  await page.getByRole("tab", { name: /Links/ }).click();
  await page.getByRole("cell", { name: 'names "Otley"' }).waitFor();
});

test("a chunk is chosen in the drawing", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "films", { "film.md": chain["film.md"] });
  const page = await openPage(t, { key: tenant.secret, path: address() });
  await drawn(page);
  const box = await page.getByRole("img", { name: /Drawing of 1 chunks/ }).boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2); // a single chunk is drawn in the middle
  await page.getByRole("region", { name: "Chunk 0 of Dark River" }).waitFor();
});

test("the settings of a walk stand in the address and are followed", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "films", chain);
  const page = await openPage(t, { key: tenant.secret, path: address({ edges: "next" }), scheme: "dark" });
  await drawn(page);
  const sources = page.getByRole("list", { name: "Sources" }).getByRole("listitem");
  assert.equal(await sources.count(), 1); // mentions are not followed
  assert.equal(await page.getByRole("checkbox", { name: /Mentions/ }).isChecked(), false);
  await page.getByRole("checkbox", { name: /Mentions/ }).check();
  await page.getByLabel("Filter").fill("{");
  await page.getByText("This is not JSON").waitFor();
  await page.getByLabel("Filter").fill('{"$uri": {"$ne": "director.md"}}');
  await Promise.all([page.waitForResponse(/GraphRag/), page.getByRole("button", { name: "Walk" }).click()]);
  await page.waitForURL(/filter=/);
  await page.getByRole("status", { name: "Walking" }).waitFor({ state: "hidden" });
  await drawn(page);
  await sources.first().waitFor();
  assert.deepEqual((await sources.getByRole("button").allTextContents()).map((name) => name.split(" · ")[0]), ["Dark River"]); // the way is barred
  await accessible(page);
});

test("chunks have the colours of their topics", async (t) => {
  const tenant = await newTenant();
  const documents = {};
  for (let i = 0; i < 8; i++) {
    documents[`pump${i}.md`] = `# Pump PX-${10 + i}\n\nThe coolant pump has greased bearings. Its valve is that of PX-${10 + ((i + 1) % 8)}.\n`;
    documents[`reel${i}.md`] = `# Reel RL-${10 + i}\n\nA silent movie with an orchestra. The director also made RL-${10 + ((i + 1) % 8)}.\n`;
  }
  await upload(tenant, "films", documents);
  const path = address({ question: "the valve of PX-11 and the director of RL-11" });
  const page = await openPage(t, { key: tenant.secret, path, allowErrors: true }); // a call waits for topics for 20 s; a page asks again then
  await drawn(page);
  await page.getByRole("list", { name: "Colours of the chunks" }).getByText("Where walks start").waitFor();
  await page.getByText("Topics", { exact: true }).click();
  const find = page.getByRole("button", { name: "Find the topics of the index" });
  await find.click();
  await find.waitFor({ state: "hidden", timeout: 300_000 }); // the topics have been found
  const { topics } = await tenant.call("QueryService/ListTopics", { indexName: "films" });
  assert.ok(topics.length >= 2);
  for (const topic of topics.filter((topic) => !topic.parentId)) {
    await page.getByRole("list", { name: "Colours of the chunks" }).getByText(topic.title).waitFor();
  }

  // Topics are found over all documents: a key with a filter sees the walk without them.
  const secret = await tenant.key({ scopes: ["read"], mandatoryFilter: { secret: { $exists: false } } });
  const limited = await openPage(t, { key: secret, path });
  await drawn(limited);
  await limited.getByText("Topics", { exact: true }).click();
  await limited.getByText("In no topic").waitFor();
  assert.equal(await limited.getByRole("button", { name: "Find the topics of the index" }).count(), 0);
});

test("what documents contain is shown as text", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "films" });
  for (const [i, text] of hostile.entries()) {
    await upload(tenant, "films", { [`${i} ${text}.txt`]: `Dark River ${text}` });
  }
  const page = await openPage(t, { key: tenant.secret, path: address({ list: "chunks", question: `Dark River ${hostile[0]}`, filter: `{"a": "${"<b>".repeat(3)}"}` }) });
  await page.getByText("Nothing was reached").waitFor();
  await page.goto(process.env.RAGD_TEST_URL + address({ list: "chunks" }));
  await drawn(page);
  for (const button of await page.getByRole("region", { name: "Chunks" }).getByRole("button").all()) {
    await button.click();
    await page.getByRole("group", { name: "The chosen chunk" }).getByText("Why it was reached").waitFor();
    await harmless(page);
  }
});

test("a graph that is off, an unknown index and missing rights are explained", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "films", graph: { off: true } });
  const page = await openPage(t, { key: tenant.secret, path: address(), allowErrors: true });
  await page.getByRole("alert").getByText("keeps no graph").waitFor();
  await page.getByRole("link", { name: "The settings of the index" }).waitFor();
  await page.goto(process.env.RAGD_TEST_URL + address({ index: "nothing" }));
  await page.getByRole("alert").getByText("Not found", { exact: true }).waitFor();
  await accessible(page);

  const bound = await openPage(t, { key: await tenant.key({ scopes: ["read"], indexes: { names: ["other"] } }), path: address(), allowErrors: true });
  await bound.getByRole("alert").getByText(/^(You may not do this|Not found)$/).waitFor();
  const none = await openPage(t, { key: (await newTenant()).secret, path: "/graph" });
  await none.getByText("No index yet").waitFor();
  const nobody = await openPage(t, { key: operator, path: "/graph" });
  await nobody.getByText("Choose a tenant").first().waitFor();
});

test("a walk over 2,000 chunks is drawn, and moves", async (t) => {
  const tenant = await newTenant();
  await tenant.call("IndexService/CreateIndex", { indexName: "films" });
  // A hub names 40 chapters, and each chapter 50 scenes.
  const texts = [];
  const name = (chapter, scene) => `QX-${1000 + chapter * 50 + scene}`;
  texts.push(["hub", `# Dark River\n\n${Array.from({ length: 40 }, (_, c) => `CH-${100 + c}`).join(" ")}`]);
  for (let c = 0; c < 40; c++) {
    texts.push([`chapter${c}`, `# CH-${100 + c}\n\n${Array.from({ length: 50 }, (_, s) => name(c, s)).join(" ")}`]);
    for (let s = 0; s < 50; s++) texts.push([`scene${c}-${s}`, `# ${name(c, s)}\n\nScene ${s} follows ${name(c, (s + 1) % 50)} and ${name((c + 1) % 40, s)}.`]);
  }
  await Promise.all(Array.from({ length: 8 }, async (_, worker) => {
    for (let i = worker; i < texts.length; i += 8) {
      const [uri, text] = texts[i];
      await tenant.call("DocumentService/UploadDocument", { indexName: "films", uri: `${uri}.md`, text });
    }
  }));
  while ((await tenant.call("IndexService/DescribeIndex", { indexName: "films" })).pendingDocumentCount > 0) await new Promise((resolve) => setTimeout(resolve, 200));

  const page = await openPage(t, { key: tenant.secret, path: address({ nodes: "2000", list: "chunks" }) });
  await page.locator('[role="img"][data-state="still"]').waitFor({ timeout: 60_000 });
  const label = await page.locator('[role="img"]').getAttribute("aria-label");
  assert.ok(Number(/of (\d+) chunks/.exec(label)[1]) > 1900, label);
  const box = await page.locator('[role="img"]').boundingBox();
  await page.evaluate(() => {
    window.intervals = [];
    let last = performance.now();
    const step = (now) => {
      window.intervals.push(now - last);
      last = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  for (let i = 0; i < 60; i++) await page.mouse.move(box.x + box.width / 2 + 3 * i, box.y + box.height / 2 + i);
  const frames = await page.evaluate(() => window.intervals);
  await page.mouse.up();
  frames.sort((a, b) => a - b);
  const at = (share) => frames[Math.floor(share * (frames.length - 1))].toFixed(0);
  t.diagnostic(`${label} Dragged: ${frames.length} frames; median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, longest ${at(1)} ms (WebGL in software)`);
  assert.ok(frames.length > 5);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.equal(await page.getByRole("region", { name: "Chunks" }).getByRole("row").count(), 201);
});

test("the chunk that an address names is in the middle of the drawing", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "films", chain);
  const { explain } = await tenant.call("QueryService/GraphRag", { indexName: "films", queryText: question, searchMode: "keyword", explain: true });
  const town = explain.nodes.find((node) => node.title === "Otley");
  const page = await openPage(t, { key: tenant.secret, path: address({ chunk: `${town.documentId}:${town.ordinal ?? 0}` }), motion: "reduce" });
  await drawn(page);
  await frames(page); // the way there takes one
  const box = await page.locator('[role="img"]').boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2); // beside the chunk, this would choose none
  await frames(page);
  await page.getByRole("region", { name: "Chunk 0 of Otley" }).waitFor();
  assert.match(page.url(), /chunk=/);
});

// A hub names 30 chapters with long titles, which name each other.
const chapters = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`chapter${n}.md`, `# CH-${100 + n} The long chapter about the weather and the harbour\n\nIt rains in CH-${100 + n} as it did in CH-${100 + ((n + 1) % 30)} and CH-${100 + ((n + 7) % 30)}.\n`]));
const hub = { "hub.md": `# Dark River\n\n${Array.from({ length: 30 }, (_, n) => `CH-${100 + n}`).join(" ")}\n` };

/** overlaps returns pairs of labels of the drawing that overlap each other. */
const overlaps = (page) => page.evaluate(() => {
  const boxes = [...document.querySelectorAll('[role="img"] text')].map((text) => ({ text: text.textContent, kind: text.dataset.label, box: text.getBoundingClientRect() }));
  const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.box.left < b.box.right && b.box.left < a.box.right && a.box.top < b.box.bottom - 1 && b.box.top < a.box.bottom - 1).map((b) => `${a.text} / ${b.text}`));
  const frame = document.querySelector('[role="img"]').getBoundingClientRect();
  const outside = boxes.filter(({ box }) => box.left < frame.left - 1 || box.right > frame.right + 1).map(({ text }) => text);
  return { labels: boxes.map(({ text }) => text), pairs, outside };
});

for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
  test(`labels of 30 chunks do not overlap, and the path of the chosen source stands out, ${width} pixels wide, ${scheme}`, async (t) => {
    const tenant = await newTenant();
    await upload(tenant, "films", { ...chapters, ...hub });
    const page = await openPage(t, { key: tenant.secret, path: address({ topK: "20" }), width, scheme, motion: "reduce" });
    await drawn(page);
    await frames(page);
    const all = await overlaps(page);
    t.diagnostic(`${all.labels.length} labels: ${all.labels.join(", ")}`);
    assert.deepEqual([all.pairs, all.outside], [[], []]);
    const ranks = all.labels.map((text) => Number(/^(\d+)/.exec(text)?.[1])).filter(Boolean);
    for (let rank = 1; rank <= 10; rank++) assert.ok(ranks.includes(rank), `source ${rank} has no label: ${all.labels}`);

    const sources = page.getByRole("list", { name: "Sources" });
    assert.equal(await sources.getByRole("listitem").count(), 20);
    await sources.getByRole("button").nth(4).click();
    await page.getByRole("group", { name: "The chosen chunk" }).getByText("Why it was reached").waitFor();
    assert.equal(await sources.getByRole("button", { pressed: true }).count(), 1);
    assert.equal(await sources.getByRole("listitem").count(), 20); // the list stays
    await frames(page, 20);
    const path = await overlaps(page);
    assert.deepEqual(path.pairs, []);
    assert.ok(path.labels.some((text) => text.startsWith("5  ") || text === "5"), path.labels.join());
    await accessible(page);
  });
}

test("a walk begins at a topic", async (t) => {
  const tenant = await newTenant();
  const documents = {};
  for (let i = 0; i < 8; i++) {
    documents[`pump${i}.md`] = `# Pump PX-${10 + i}\n\nThe coolant pump has greased bearings. Its valve is that of PX-${10 + ((i + 1) % 8)}.\n`;
    documents[`reel${i}.md`] = `# Reel RL-${10 + i}\n\nA silent movie with an orchestra. The director also made RL-${10 + ((i + 1) % 8)}.\n`;
  }
  await upload(tenant, "films", documents);
  const page = await openPage(t, { key: tenant.secret, path: "/graph", allowErrors: true }); // it may ask for topics again, as above
  await page.getByRole("button", { name: "Show the topics" }).click();
  const topics = page.getByRole("list", { name: "Topics" }).getByRole("button");
  await topics.first().waitFor({ timeout: 300_000 });
  await accessible(page);
  await topics.first().click();
  await page.waitForURL(/question=/);
  await drawn(page);
  await page.getByRole("list", { name: "Sources" }).getByRole("listitem").first().waitFor();

  const limited = await openPage(t, { key: await tenant.key({ scopes: ["read"], mandatoryFilter: { secret: { $exists: false } } }), path: "/graph" });
  await limited.getByText("Ask a question").waitFor();
  assert.equal(await limited.getByRole("button", { name: "Show the topics" }).count(), 0);
});
