import classes from "./Graph.module.css";

/** Label is a text that belongs to a disc, or to the middle of a line if its radius is 0. Positions are in pixels of the drawing. */
export interface Label {
  id: string;
  /** The text, and shorter ones for where it has no room. */
  texts: string[];
  x: number;
  y: number;
  radius: number;
  strong: boolean;
}

/** Disc is what labels leave free. */
export type Disc = Pick<Label, "x" | "y" | "radius">;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Placed extends Box {
  label: Label;
  text: string;
  /** Index of the position beside the disc. */
  side: number;
}

const height = 17;
const gap = 4;

/** sides are the positions of a label beside its disc, the best first: where its middle is, in radii and in sizes of its own. */
const sides: [dx: number, dy: number][] = [[1, 0], [-1, 0], [0, 1], [0, -1], [0.75, -0.75], [0.75, 0.75], [-0.75, -0.75], [-0.75, 0.75]];

function beside({ x, y, radius }: Label, width: number, [dx, dy]: [number, number]): Box {
  if (radius === 0) return { x: x - width / 2 + dx * 8, y: y - height / 2 + dy * 12, width, height };
  const middleX = x + dx * (radius + gap) + (Math.sign(dx) * width) / 2;
  const middleY = y + dy * (radius + gap) + (Math.sign(dy) * (dx === 0 ? height : height / 2)) / 2;
  return { x: middleX - width / 2, y: middleY - height / 2, width, height };
}

const overlap = (a: Box, b: Box) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

function touches(box: Box, { x, y, radius }: Disc): boolean {
  const dx = x - Math.max(box.x, Math.min(x, box.x + box.width));
  const dy = y - Math.max(box.y, Math.min(y, box.y + box.height));
  return dx * dx + dy * dy < radius * radius;
}

/**
 * place returns where labels are written so that none overlaps another one or a disc. Strong labels get room for their
 * shortest text first, which may cover discs; then each label, in order, the longest text that there is room for. A label
 * without room is left out, and one that was written before stays on its side if it can.
 */
export function place(labels: Label[], discs: Disc[], size: { width: number; height: number }, widthOf: (text: string, strong: boolean) => number, before: ReadonlyMap<string, number>): Placed[] {
  const placed = new Map<string, Placed>();
  const free = (box: Box, label: Label, discs: Disc[]) =>
    box.x >= 0 && box.y >= 0 && box.x + box.width <= size.width && box.y + box.height <= size.height
    && ![...placed.values()].some((other) => other.label !== label && overlap(other, box)) && !discs.some((disc) => touches(box, disc));
  const put = (label: Label, text: string, discs: Disc[]): boolean => {
    const last = before.get(label.id);
    const order = last === undefined ? [...sides.keys()] : [last, ...[...sides.keys()].filter((side) => side !== last)];
    const width = Math.ceil(widthOf(text, label.strong)) + 2;
    for (const side of order) {
      const box = beside(label, width, label.radius === 0 && side === 0 ? [0, 0] : sides[side]!);
      if (!free(box, label, discs)) continue;
      placed.set(label.id, { ...box, label, text, side });
      return true;
    }
    return false;
  };
  const shown = labels.filter(({ x, y }) => x >= 0 && y >= 0 && x <= size.width && y <= size.height);
  for (const label of shown) {
    const shortest = label.texts.at(-1)!;
    if (label.strong && !put(label, shortest, discs)) put(label, shortest, []);
  }
  for (const label of shown) label.texts.some((text) => put(label, text, discs));
  return [...placed.values()];
}

/** Labels writes labels above a drawing. */
export class Labels {
  private readonly layer = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private readonly context = document.createElement("canvas").getContext("2d")!;
  private readonly widths = new Map<string, number>();
  private readonly written = new Map<string, SVGTextElement>();
  private sides = new Map<string, number>();

  constructor(element: HTMLElement) {
    this.layer.classList.add(classes.labels!);
    element.append(this.layer);
  }

  /** write places labels anew. */
  write(labels: Label[], discs: Disc[], size: { width: number; height: number }) {
    const placed = place(labels, discs, size, (text, strong) => this.widthOf(text, strong), this.sides);
    this.sides = new Map(placed.map(({ label, side }) => [label.id, side]));
    for (const [id, text] of this.written) {
      if (this.sides.has(id)) continue;
      text.remove();
      this.written.delete(id);
    }
    for (const { label, text, x, y } of placed) {
      let element = this.written.get(label.id);
      if (!element) {
        element = document.createElementNS("http://www.w3.org/2000/svg", "text");
        element.dataset.label = label.radius === 0 ? "link" : "chunk";
        this.layer.append(element);
        this.written.set(label.id, element);
      }
      if (element.textContent !== text) element.textContent = text;
      element.toggleAttribute("data-strong", label.strong);
      element.setAttribute("x", String(x + 1));
      element.setAttribute("y", String(y + 13));
    }
  }

  remove() {
    this.layer.remove();
  }

  private widthOf(text: string, strong: boolean): number {
    const key = `${strong} ${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.context.font = `${strong ? 600 : 400} 13px ${getComputedStyle(this.layer).fontFamily}`;
      width = this.context.measureText(text).width;
      this.widths.set(key, width);
    }
    return width;
  }
}
