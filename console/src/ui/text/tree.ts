import type { Element, ElementContent, Root, RootContent, Text } from "hast";
import type { Range } from "./ranges";

/** TreeOptions say what is done with the tree of a Markdown text. */
export interface TreeOptions {
  /** The Markdown that the tree was made of. */
  source: string;
  /** Ranges of the source that are marked. */
  marks?: Range[];
  /** The range of the source that is shown; what is cut is shown as an ellipsis. */
  window?: Range;
  /** Numbers in brackets, such as [1], that become links to #citation-1. */
  citations?: Set<number>;
  /** Leaves out the header of the first table. */
  headless?: boolean;
}

type Parent = Root | Element;
type Child = RootContent | ElementContent;

const blocks = new Set(["p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "blockquote"]);

/** shape is a rehype plugin that turns HTML into text, marks ranges, cuts to a window and links citations. */
export function shape(options: TreeOptions) {
  return () => (tree: Root) => {
    plain(tree);
    if (options.headless) behead(tree);
    const { window: shown } = options;
    if (shown) crop(tree, options.source, shown);
    if (options.marks?.length || options.citations?.size) decorate(tree, options);
  };
}

/** plain makes text of HTML, except comments, which go, and line breaks; and lets each block have a direction of its own. */
function plain(parent: Parent) {
  parent.children = (parent.children as Child[]).flatMap((child): Child[] => {
    if (child.type === "raw") {
      const { value, position } = child as unknown as Text;
      if (/^<!--[\s\S]*-->\s*$/.test(value)) return [];
      if (/^<br\s*\/?>$/i.test(value)) return [{ type: "element", tagName: "br", properties: {}, children: [], position }];
      return [{ type: "text", value, position }];
    }
    if (child.type === "element") {
      if (blocks.has(child.tagName)) child.properties.dir = "auto";
      plain(child);
    }
    return [child];
  }) as never;
}

function behead(tree: Root) {
  const table = tree.children.find((child) => child.type === "element" && child.tagName === "table") as Element | undefined;
  if (table) table.children = table.children.filter((child) => child.type !== "element" || child.tagName !== "thead");
}

/** positions returns where each character of a text stands in the source, which may have more: escapes, entities, fences. */
function positions(text: Text, parent: Parent, source: string): number[] | undefined {
  const { start, end } = (text.position ?? parent.position) ?? {};
  if (start?.offset === undefined || end?.offset === undefined) return undefined;
  const piece = source.slice(start.offset, end.offset);
  const whole = piece.lastIndexOf(text.value.trimEnd());
  if (whole >= 0) return Array.from(text.value, (_, i) => start.offset! + whole + i);
  const out: number[] = [];
  let at = 0;
  for (const char of text.value.split("")) {
    const found = piece.indexOf(char, at);
    if (found >= 0) at = found;
    out.push(start.offset + at);
    if (found >= 0) at++;
  }
  return out;
}

/** crop leaves out what is not in a window. It reports whether anything is left. */
function crop(parent: Parent, source: string, shown: Range): boolean {
  let left = false, skipped = 0;
  parent.children = (parent.children as Child[]).flatMap((child): Child[] => {
    if (child.type === "text") {
      const at = positions(child, parent, source);
      if (!at) return [child];
      const kept = child.value.split("").filter((_, i) => at[i]! >= shown.start && at[i]! < shown.end).join("");
      if (kept.trim() === "") return [];
      left = true;
      const first = at.findIndex((offset) => offset >= shown.start);
      const before = first > 0 ? "… " : "", after = at[at.length - 1]! >= shown.end ? " …" : "";
      return [
        ...(before ? [{ type: "text", value: before } as Text] : []),
        { type: "text", value: kept, position: child.position ? { start: { ...child.position.start, offset: at[first]! }, end: { ...child.position.end, offset: Math.min(child.position.end.offset!, shown.end) } } : undefined },
        ...(after ? [{ type: "text", value: after } as Text] : []),
      ];
    }
    if (child.type !== "element") return [child];
    if (child.tagName === "thead") return [child];
    const { start, end } = child.position ?? {};
    const outside = start?.offset !== undefined && end?.offset !== undefined && (end.offset <= shown.start || start.offset >= shown.end);
    if (outside || (child.children.length > 0 && !crop(child, source, shown))) {
      if (child.tagName === "li" && !left) skipped++;
      return [];
    }
    left = true;
    return [child];
  }) as never;
  if (skipped > 0 && parent.type === "element" && parent.tagName === "ol") parent.properties.start = Number(parent.properties.start ?? 1) + skipped;
  return left;
}

/** decorate marks ranges in texts, and links citations. */
function decorate(parent: Parent, options: TreeOptions) {
  const code = parent.type === "element" && (parent.tagName === "code" || parent.tagName === "a");
  parent.children = (parent.children as Child[]).flatMap((child): Child[] => {
    if (child.type === "element") decorate(child, options);
    if (child.type !== "text") return [child];
    if (options.marks?.length) return marked(child, parent, options.source, options.marks);
    return code ? [child] : cited(child.value, options.citations!);
  }) as never;
}

function marked(text: Text, parent: Parent, source: string, marks: Range[]): ElementContent[] {
  const at = positions(text, parent, source);
  if (!at) return [text];
  const inside = at.map((offset) => marks.some((mark) => offset >= mark.start && offset < mark.end));
  const out: ElementContent[] = [];
  for (let from = 0, to = 0; from < inside.length; from = to) {
    while (to < inside.length && inside[to] === inside[from]) to++;
    const value = text.value.slice(from, to);
    out.push(inside[from] ? { type: "element", tagName: "mark", properties: {}, children: [{ type: "text", value }] } : { type: "text", value });
  }
  return out;
}

function cited(text: string, known: Set<number>): ElementContent[] {
  return text.split(/(\[\d+\])/).filter(Boolean).map((piece): ElementContent => {
    const number = Number(/^\[(\d+)\]$/.exec(piece)?.[1]);
    if (!known.has(number)) return { type: "text", value: piece };
    return { type: "element", tagName: "a", properties: { href: `#citation-${number}` }, children: [{ type: "text", value: piece }] };
  });
}
