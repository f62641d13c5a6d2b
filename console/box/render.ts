import type { Source } from "./ask";

/** element returns a new element with attributes and content. Texts become text nodes, never HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Record<string, string> = {}, ...content: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

/** paragraphs returns the nodes of an answer, whose markers such as [1] lead to their sources. */
export function paragraphs(text: string, sources: Source[] = []): Node[] {
  const byNumber = new Map(sources.map((source) => [source.number, source]));
  const nodes: Node[] = [];
  for (const [i, part] of text.split(/^```.*$/m).entries()) {
    if (i % 2 === 1) {
      nodes.push(element("pre", { tabindex: "0" }, part.trim()));
      continue;
    }
    for (const paragraph of part.split(/\n{2,}/)) if (paragraph.trim() !== "") nodes.push(element("p", { dir: "auto" }, ...inline(paragraph.trim(), byNumber)));
  }
  return nodes;
}

/** inline returns the nodes of a paragraph: **strong**, `code` and markers of sources; all else is text. */
function inline(text: string, sources: Map<number, Source>): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let at = 0;
  for (const match of text.matchAll(/\*\*([^*\n]+)\*\*|`([^`\n]+)`|\[(\d+(?:, ?\d+)*)\]/g)) {
    const [whole, strong, code, numbers] = match;
    nodes.push(text.slice(at, match.index));
    at = match.index + whole.length;
    if (strong) nodes.push(element("strong", {}, strong));
    else if (code) nodes.push(element("code", {}, code));
    else nodes.push(...markers(whole, numbers!, sources));
  }
  nodes.push(text.slice(at));
  return nodes;
}

function markers(whole: string, numbers: string, sources: Map<number, Source>): (Node | string)[] {
  const cited = numbers.split(",").map(Number);
  if (!cited.every((number) => sources.has(number))) return [whole];
  return cited.map((number) => {
    const { url, title } = sources.get(number)!;
    return element("sup", {}, url ? link(url, `[${number}]`, { "aria-label": `Source ${number}: ${title}` }) : `[${number}]`);
  });
}

/** list returns the list of the sources of an answer. */
export function list(sources: Source[]): Node {
  return element("ol", {}, ...sources.map(({ number, title, url }) => element("li", { value: String(number), dir: "auto" }, url ? link(url, title) : title)));
}

function link(url: string, text: string, attributes: Record<string, string> = {}): Node {
  return element("a", { href: url, target: "_blank", rel: "noopener", ...attributes }, text);
}
