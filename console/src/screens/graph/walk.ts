import type { GraphEdge, GraphNode, GraphRagResponse, Source, Topic } from "@/gen/ragd/v1/query_pb";

/** WalkNode is a chunk that the walk reached. */
export interface WalkNode extends Pick<GraphNode, "documentId" | "ordinal" | "title" | "uri" | "score" | "seed" | "path" | "topicId" | "startByte" | "endByte"> {
  /** Identifies the chunk in addresses. */
  id: string;
  /** Index into Walk.nodes. */
  index: number;
  /** Its rank among the sources, from 1; 0 if it is none. */
  rank: number;
  /** Links from a seed to the chunk, on the path that walks take most often; -1 if the path is not shown. */
  steps: number;
  /** Index of the link by which the path arrives; -1 at a seed. */
  reachedBy: number;
}

/** WalkEdge is a link between two chunks, as indices of Walk.nodes. */
export type WalkEdge = Pick<GraphEdge, "from" | "to" | "type" | "share" | "words"> & { index: number };

/** Walk is what a walk has seen, as the page shows it. */
export interface Walk {
  nodes: WalkNode[];
  edges: WalkEdge[];
  /** Links that begin or end at each node. */
  links: number[][];
  sources: Source[];
  byId: Map<string, WalkNode>;
}

/** chunkId names a chunk in addresses. */
export function chunkId(documentId: string, ordinal: number): string {
  return `${documentId}:${ordinal}`;
}

/** walkOf arranges the explanation of an answer. */
export function walkOf(response: GraphRagResponse): Walk {
  const explained = response.explain?.nodes ?? [];
  const edges = (response.explain?.edges ?? []).map((edge, index) => ({ from: edge.from, to: edge.to, type: edge.type, share: edge.share, words: edge.words, index }));
  const ranks = new Map(response.sources.map((source, i) => [chunkId(source.documentId, source.ordinal), i + 1]));
  const nodes = explained.map((node, index): WalkNode => {
    const id = chunkId(node.documentId, node.ordinal);
    const { documentId, ordinal, title, uri, score, seed, path, topicId, startByte, endByte } = node;
    return { documentId, ordinal, title, uri, score, seed, path, topicId, startByte, endByte, id, index, rank: ranks.get(id) ?? 0, steps: -1, reachedBy: node.reachedBy ?? -1 };
  });
  for (const node of nodes) node.steps = stepsTo(nodes, edges, node);
  const links: number[][] = nodes.map(() => []);
  for (const edge of edges) {
    links[edge.from]!.push(edge.index);
    if (edge.to !== edge.from) links[edge.to]!.push(edge.index);
  }
  return { nodes, edges, links, sources: response.sources, byId: new Map(nodes.map((node) => [node.id, node])) };
}

/** pathTo returns the links of the path to a node, the last first. */
export function pathTo(nodes: WalkNode[], edges: WalkEdge[], node: WalkNode): WalkEdge[] {
  const path: WalkEdge[] = [];
  for (let at: WalkNode | undefined = node; at && at.reachedBy >= 0 && path.length < nodes.length; ) {
    const edge: WalkEdge = edges[at.reachedBy]!;
    path.push(edge);
    at = nodes[edge.from];
  }
  return path;
}

function stepsTo(nodes: WalkNode[], edges: WalkEdge[], node: WalkNode): number {
  const path = pathTo(nodes, edges, node);
  const start = path.length > 0 ? nodes[path.at(-1)!.from]! : node;
  return start.seed > 0 ? path.length : -1;
}

/** Group is what has one colour: a topic, or the chunks that are equally far from the seeds. */
export interface Group {
  key: string;
  label: string;
  /** Index into the palette; -1: the colour of what is in no group. */
  color: number;
  count: number;
}

/** palette is the number of colours for groups. */
export const palette = 8;

/** groupBy returns the groups of the nodes: those of most nodes first have a colour of their own. */
export function groupBy(walk: Walk, by: "topic" | "steps", topics: Topic[]): { groups: Group[]; of: (node: WalkNode) => Group } {
  const key = (node: WalkNode) => String(by === "topic" ? node.topicId : Math.max(node.steps, -1));
  const counts = new Map<string, number>();
  for (const node of walk.nodes) counts.set(key(node), (counts.get(key(node)) ?? 0) + 1);
  const keys = [...counts.keys()].sort((a, b) => (by === "steps" ? Number(a) - Number(b) : counts.get(b)! - counts.get(a)! || Number(a) - Number(b)));
  const titles = new Map(topics.map((topic) => [String(topic.topicId), topic.title]));
  let used = 0;
  const groups = keys.map((key): Group => {
    const none = by === "topic" ? key === "0" : key === "-1";
    const label = by === "topic" ? (none ? "In no topic" : titles.get(key) || `Topic ${key}`) : stepsLabel(Number(key));
    return { key, label, color: none || used >= palette ? -1 : used++, count: counts.get(key)! };
  });
  const found = new Map(groups.map((group) => [group.key, group]));
  return { groups, of: (node) => found.get(key(node))! };
}

/** stepsLabel says how far a chunk is from the seeds. */
export function stepsLabel(steps: number): string {
  if (steps < 0) return "By a path that is not shown";
  return steps === 0 ? "Where walks start" : steps === 1 ? "1 step away" : `${steps} steps away`;
}

/** percent writes a probability, such as 12 % or 0.034 %. */
export function percent(share: number): string {
  const value = 100 * share;
  return `${value >= 10 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(2)} %`;
}

/** drawnEdges returns the links to draw: of those that join the same two chunks in the same way, one. */
export function drawnEdges(walk: Walk): WalkEdge[] {
  const onPath = new Set(walk.nodes.map((node) => node.reachedBy));
  const best = new Map<string, WalkEdge>();
  for (const edge of walk.edges) {
    if (edge.from === edge.to) continue;
    const key = `${Math.min(edge.from, edge.to)} ${Math.max(edge.from, edge.to)} ${edge.type}`;
    const other = best.get(key);
    const better = !other || (onPath.has(edge.index) !== onPath.has(other.index) ? onPath.has(edge.index) : edge.share > other.share);
    if (better) best.set(key, edge);
  }
  return [...best.values()];
}
