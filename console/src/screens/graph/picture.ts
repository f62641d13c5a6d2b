import { MultiDirectedGraph } from "graphology";
import Sigma from "sigma";
import { EdgeArrowProgram, EdgeLineProgram } from "sigma/rendering";
import type { EdgeDisplayData, NodeDisplayData } from "sigma/types";
import { Labels, type Disc, type Label } from "./labels";
import { mix, type Look } from "./look";
import { drawnEdges, pathTo, type Walk, type WalkEdge, type WalkNode } from "./walk";

/** named is the number of sources whose links are named. */
const named = 10;

/** mostLabels is the number of chunks that labels are sought room for. */
const mostLabels = 150;

/** large is the radius in pixels from which on a chunk has a label though it is no source. */
const large = 5;

/** maxMoving is the number of links that are drawn while the picture moves; of more, none. */
const maxMoving = 3000;

interface Options {
  look: Look;
  color: (node: WalkNode) => string;
  onChoose: (node: WalkNode | undefined) => void;
  animated: boolean;
}

/** Picture draws a walk with WebGL in an element. Its constructor fails in a browser without WebGL. */
export class Picture {
  private readonly graph = new MultiDirectedGraph();
  private readonly sigma: Sigma;
  private readonly rings: CanvasRenderingContext2D;
  private readonly edges;
  private options: Options;
  private chosen?: WalkNode;
  private near = new Set<string>();
  private path = new Set<string>();
  private hovered?: string;
  private readonly labels: Labels;
  private readonly narrow: boolean;

  constructor(element: HTMLElement, private readonly walk: Walk, positions: Float32Array, options: Options) {
    this.options = options;
    this.edges = drawnEdges(walk);
    this.narrow = element.clientWidth < 500;
    const most = Math.max(...walk.nodes.map((node) => node.score), 1e-12);
    for (const node of walk.nodes) {
      this.graph.addNode(node.index, {
        x: positions[2 * node.index], y: positions[2 * node.index + 1], size: (3 + 13 * Math.sqrt(node.score / most)) * (this.narrow ? 0.6 : 1), zIndex: node.rank > 0 ? 2 : 1,
      });
    }
    for (const edge of this.edges) {
      this.graph.addDirectedEdgeWithKey(edge.index, edge.from, edge.to, { size: 0.8 + 2.2 * Math.sqrt(edge.share), kind: edge.type });
    }
    this.sigma = new Sigma(this.graph, element, {
      allowInvalidContainer: true, renderLabels: false, zIndex: true, defaultDrawNodeHover: (context, data) => this.drawHover(context, data), hideEdgesOnMove: this.edges.length > maxMoving,
      edgeProgramClasses: { line: EdgeLineProgram, arrow: EdgeArrowProgram }, defaultEdgeType: "line",
      minCameraRatio: 0.02, maxCameraRatio: 4, stagePadding: 60,
      nodeReducer: (node, data) => this.node(node, data), edgeReducer: (edge, data) => this.edge(edge, data),
    });
    this.sigma.createCanvasContext("rings", { style: { pointerEvents: "none" } });
    this.rings = this.sigma.getCanvases().rings!.getContext("2d")!;
    this.labels = new Labels(element);
    this.sigma.resize(true);
    this.sigma.on("afterRender", () => {
      this.drawRings();
      this.writeLabels();
    });
    this.sigma.on("clickNode", ({ node }) => this.options.onChoose(walk.nodes[Number(node)]));
    this.sigma.on("clickStage", () => this.options.onChoose(undefined));
    this.sigma.on("enterNode", ({ node }) => this.hover(node, element));
    this.sigma.on("leaveNode", () => this.hover(undefined, element));
  }

  /** place moves the nodes. */
  place(positions: Float32Array) {
    this.graph.updateEachNodeAttributes((node, data) => ({ ...data, x: positions[2 * Number(node)], y: positions[2 * Number(node) + 1] }), { attributes: ["x", "y"] });
  }

  /** change replaces colours and listeners. */
  change(options: Options) {
    this.options = options;
    this.sigma.refresh({ skipIndexation: true });
  }

  /** choose shows how a node was reached, and its links; it moves there if that is asked for. */
  choose(node: WalkNode | undefined, approach: boolean) {
    this.chosen = node;
    this.near = new Set();
    this.path = new Set();
    if (node) {
      const path = pathTo(this.walk.nodes, this.walk.edges, node);
      this.path = new Set(path.map((edge) => String(edge.index)));
      for (const edge of [...path, ...this.walk.links[node.index]!.map((i) => this.walk.edges[i]!)]) {
        this.near.add(String(edge.from)).add(String(edge.to));
      }
      this.near.add(String(node.index));
    }
    this.sigma.refresh({ skipIndexation: true });
    if (node && approach) this.approach(node);
  }

  private approach(node: WalkNode) {
    const data = this.sigma.getNodeDisplayData(String(node.index));
    const camera = this.sigma.getCamera();
    if (data) void camera.animate({ x: data.x, y: data.y, ratio: Math.min(camera.ratio, 0.4) }, this.motion);
  }

  zoom(factor: number) {
    void this.sigma.getCamera().animatedZoom({ factor, ...this.motion });
  }

  fit() {
    void this.sigma.getCamera().animatedReset(this.motion);
  }

  remove() {
    this.labels.remove();
    this.sigma.kill();
  }

  private get motion() {
    return { duration: this.options.animated ? 300 : 1 };
  }

  private hover(node: string | undefined, element: HTMLElement) {
    element.style.cursor = node === undefined ? "" : "pointer";
    this.hovered = node;
    this.writeLabels();
  }

  private node(key: string, data: Record<string, unknown>): Partial<NodeDisplayData> {
    const node = this.walk.nodes[Number(key)]!;
    const faint = this.chosen !== undefined && !this.near.has(key);
    return { ...data, color: faint ? this.options.look.faint : this.options.color(node), highlighted: node === this.chosen, zIndex: faint ? 0 : (data.zIndex as number) };
  }

  private edge(key: string, data: Record<string, unknown>): Partial<EdgeDisplayData> {
    const look = this.options.look;
    const edge = this.walk.edges[Number(key)]!;
    const color = look.edges[edge.type] ?? look.none;
    if (!this.chosen) {
      const source = this.walk.nodes[edge.to]!;
      const leads = source.reachedBy === edge.index && source.rank > 0;
      const seldom = mix(look.background, color, Math.min(1, 0.22 + 1.6 * edge.share)); // links that few walks take are faint
      return { ...data, color: leads ? look.path : seldom, type: leads ? "arrow" : "line", zIndex: leads ? 2 : 1 };
    }
    if (this.path.has(key)) return { ...data, color: look.path, type: "arrow", size: 4, zIndex: 3 };
    const own = edge.from === this.chosen.index || edge.to === this.chosen.index;
    if (own) return { ...data, color, type: "arrow", zIndex: 2 };
    return { ...data, color: look.faint, type: "line", zIndex: 0 };
  }

  /** drawRings marks the chunks where walks start. */
  private drawRings() {
    const { rings, sigma } = this;
    const { width, height } = sigma.getDimensions();
    rings.clearRect(0, 0, width, height);
    rings.lineWidth = 1.5;
    for (const node of this.walk.nodes) {
      const key = String(node.index);
      if (node.seed === 0 || (this.chosen && !this.near.has(key))) continue;
      const data = sigma.getNodeDisplayData(key);
      if (!data) continue;
      const { x, y } = sigma.framedGraphToViewport(data);
      rings.strokeStyle = this.options.look.text;
      rings.beginPath();
      rings.arc(x, y, sigma.scaleSize(data.size) + 3, 0, 2 * Math.PI);
      rings.stroke();
    }
  }

  /** drawHover marks the chunk under the mouse, and the chosen one. */
  private drawHover(context: CanvasRenderingContext2D, { x, y, size }: { x: number; y: number; size: number }) {
    context.beginPath();
    context.arc(x, y, size + 2, 0, 2 * Math.PI);
    context.strokeStyle = this.options.look.path;
    context.lineWidth = 3;
    context.stroke();
  }

  /** writeLabels names the chosen chunk and its path before the sources, and these before other chunks; then links. */
  private writeLabels() {
    const { nodes } = this.walk;
    const discs = nodes.map((node) => this.disc(node));
    const order = (node: WalkNode) => (String(node.index) === this.hovered ? -3 : node === this.chosen ? -2 : this.path.size > 0 && this.onPath(node) ? -1 : node.rank > 0 ? node.rank : 1e6 - node.score);
    const shown = nodes.filter((node) => String(node.index) === this.hovered || (this.chosen ? this.near.has(String(node.index)) : node.rank > 0 || discs[node.index]!.radius >= large));
    const chunks = shown.sort((a, b) => order(a) - order(b)).slice(0, mostLabels).map((node): Label => ({ id: `n${node.index}`, texts: textsOf(node, this.narrow && node !== this.chosen && node.rank > 3), strong: node.rank > 0 || node === this.chosen, ...discs[node.index]! }));
    const links = this.edges.filter((edge) => this.isNamed(edge)).map((edge): Label => {
      const [from, to] = [discs[edge.from]!, discs[edge.to]!];
      return { id: `e${edge.index}`, texts: shorter(edge.words, 44, 20), x: (from.x + to.x) / 2, y: (from.y + to.y) / 2, radius: 0, strong: false };
    });
    const path = links.filter(({ id }) => this.path.has(id.slice(1)));
    this.labels.write([...chunks, ...path, ...links.filter((link) => !path.includes(link))], discs.filter(({ radius }) => radius >= large), this.sigma.getDimensions());
  }

  /** isNamed reports whether the words of a link are written. */
  private isNamed(edge: WalkEdge): boolean {
    if (edge.words === "") return false;
    if (!this.chosen) {
      const source = this.walk.nodes[edge.to]!;
      return source.reachedBy === edge.index && source.rank > 0 && source.rank <= named;
    }
    return this.path.has(String(edge.index)) || ((edge.from === this.chosen.index || edge.to === this.chosen.index) && this.walk.links[this.chosen.index]!.length <= 30);
  }

  private onPath(node: WalkNode): boolean {
    return this.path.has(String(node.reachedBy)) || this.walk.links[node.index]!.some((i) => this.path.has(String(i)));
  }

  /** disc returns where a chunk is drawn. */
  private disc(node: WalkNode): Disc {
    const data = this.sigma.getNodeDisplayData(String(node.index));
    if (!data) return { x: -1, y: -1, radius: 0 };
    return { ...this.sigma.framedGraphToViewport(data), radius: this.sigma.scaleSize(data.size) };
  }
}

/** shorter returns a text of at most two lengths. */
function shorter(text: string, ...lengths: number[]): string[] {
  return [...new Set(lengths.map((length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text)))];
}

/** textsOf returns what a chunk is called, and shorter names of it; a source has at least its rank, or only that. */
function textsOf({ title, ordinal, rank }: WalkNode, rankOnly: boolean): string[] {
  if (rankOnly && rank > 0) return [String(rank)];
  const names = shorter(title, 42, 24, 12);
  if (rank === 0) return [`${names[0]} · ${ordinal}`, ...names];
  return [`${rank}  ${names[0]} · ${ordinal}`, ...names.map((name) => `${rank}  ${name}`), String(rank)];
}
