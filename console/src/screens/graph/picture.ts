import { MultiDirectedGraph } from "graphology";
import Sigma from "sigma";
import { EdgeArrowProgram, EdgeLineProgram, type EdgeLabelDrawingFunction, type NodeLabelDrawingFunction } from "sigma/rendering";
import type { EdgeDisplayData, NodeDisplayData } from "sigma/types";
import { mix, type Look } from "./look";
import { drawnEdges, pathTo, type Walk, type WalkNode } from "./walk";

/** named is the number of sources whose titles are always written. */
const named = 10;

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

  constructor(element: HTMLElement, private readonly walk: Walk, positions: Float32Array, options: Options) {
    this.options = options;
    this.edges = drawnEdges(walk);
    const narrow = element.clientWidth < 500;
    const most = Math.max(...walk.nodes.map((node) => node.score), 1e-12);
    for (const node of walk.nodes) {
      const title = `${node.title.length > 42 ? `${node.title.slice(0, 40)}…` : node.title} · ${node.ordinal}`;
      this.graph.addNode(node.index, {
        x: positions[2 * node.index], y: positions[2 * node.index + 1], size: (3 + 13 * Math.sqrt(node.score / most)) * (narrow ? 0.6 : 1),
        label: node.rank > 3 && narrow ? `${node.rank}  ` : node.rank > 0 ? `${node.rank}  ${title}` : title, zIndex: node.rank > 0 ? 2 : 1,
      });
    }
    for (const edge of this.edges) {
      this.graph.addDirectedEdgeWithKey(edge.index, edge.from, edge.to, { label: edge.words, size: 0.6 + 2.2 * Math.sqrt(edge.share), kind: edge.type });
    }
    this.sigma = new Sigma(this.graph, element, {
      ...drawing(() => this.options.look), allowInvalidContainer: true, renderEdgeLabels: true, zIndex: true, hideEdgesOnMove: this.edges.length > maxMoving,
      edgeProgramClasses: { line: EdgeLineProgram, arrow: EdgeArrowProgram }, defaultEdgeType: "line",
      labelDensity: 0.6, labelGridCellSize: 120, labelRenderedSizeThreshold: 7, minCameraRatio: 0.02, maxCameraRatio: 4, stagePadding: 60,
      nodeReducer: (node, data) => this.node(node, data), edgeReducer: (edge, data) => this.edge(edge, data),
    });
    this.sigma.createCanvasContext("rings", { style: { pointerEvents: "none" } });
    this.rings = this.sigma.getCanvases().rings!.getContext("2d")!;
    this.sigma.resize(true);
    this.sigma.on("afterRender", () => this.drawRings());
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
    this.sigma.kill();
  }

  private get motion() {
    return { duration: this.options.animated ? 300 : 1 };
  }

  private hover(node: string | undefined, element: HTMLElement) {
    element.style.cursor = node === undefined ? "" : "pointer";
  }

  private node(key: string, data: Record<string, unknown>): Partial<NodeDisplayData> {
    const node = this.walk.nodes[Number(key)]!;
    const faint = this.chosen !== undefined && !this.near.has(key);
    const forceLabel = this.chosen ? this.path.size > 0 && this.near.has(key) && this.onPath(node) : node.rank > 0 && node.rank <= named;
    return {
      ...data, color: faint ? this.options.look.faint : this.options.color(node), label: faint ? null : (data.label as string),
      forceLabel: forceLabel || node === this.chosen, highlighted: node === this.chosen, zIndex: faint ? 0 : (data.zIndex as number),
    };
  }

  private onPath(node: WalkNode): boolean {
    return this.path.has(String(node.reachedBy)) || this.walk.links[node.index]!.some((i) => this.path.has(String(i)));
  }

  private edge(key: string, data: Record<string, unknown>): Partial<EdgeDisplayData> {
    const look = this.options.look;
    const edge = this.walk.edges[Number(key)]!;
    const color = look.edges[edge.type] ?? look.none;
    if (!this.chosen) {
      const source = this.walk.nodes[edge.to]!;
      const leads = source.reachedBy === edge.index && source.rank > 0;
      const seldom = mix(look.background, color, Math.min(1, 0.22 + 1.6 * edge.share)); // links that few walks take are faint
      return { ...data, color: leads ? look.path : seldom, type: leads ? "arrow" : "line", forceLabel: leads && source.rank <= named, label: leads ? (data.label as string) : null, zIndex: leads ? 2 : 1 };
    }
    if (this.path.has(key)) return { ...data, color: look.path, type: "arrow", size: 3, forceLabel: true, zIndex: 3 };
    const own = edge.from === this.chosen.index || edge.to === this.chosen.index;
    if (own) return { ...data, color, type: "arrow", forceLabel: this.walk.links[this.chosen.index]!.length <= 30, zIndex: 2 };
    return { ...data, color: look.faint, label: null, type: "line", zIndex: 0 };
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
}

/** drawing returns how texts are drawn: with an outline in the colour of the page, so that they can be read above links. */
function drawing(look: () => Look) {
  const font = "system-ui, sans-serif";
  const write = (context: CanvasRenderingContext2D, text: string, x: number, y: number) => {
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = look().background;
    context.fillStyle = look().text;
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  };
  const node: NodeLabelDrawingFunction = (context, data, settings) => {
    if (!data.label) return;
    const strong = (data as Partial<NodeDisplayData>).highlighted || /^\d+ {2}/.test(data.label);
    context.font = `${strong ? 600 : 400} ${settings.labelSize}px ${font}`;
    write(context, data.label, data.x + data.size + 6, data.y + settings.labelSize / 3);
  };
  const hover: NodeLabelDrawingFunction = (context, data, settings) => {
    context.beginPath();
    context.arc(data.x, data.y, data.size + 2, 0, 2 * Math.PI);
    context.strokeStyle = look().path;
    context.lineWidth = 3;
    context.stroke();
    node(context, data, settings);
  };
  const edge: EdgeLabelDrawingFunction = (context, data, from, to, settings) => {
    if (!data.label) return;
    context.font = `400 ${settings.edgeLabelSize}px ${font}`;
    const text = data.label.length > 44 ? `${data.label.slice(0, 42)}…` : data.label;
    const length = Math.hypot(to.x - from.x, to.y - from.y) - from.size - to.size;
    const width = context.measureText(text).width;
    if (width > length * 1.15) return;
    let angle = Math.atan2(to.y - from.y, to.x - from.x);
    if (Math.abs(angle) > Math.PI / 2) angle += Math.PI; // never upside down
    context.save();
    context.translate((from.x + to.x) / 2, (from.y + to.y) / 2);
    context.rotate(angle);
    write(context, text, -width / 2, -4);
    context.restore();
  };
  return {
    labelSize: 13, labelFont: font, edgeLabelSize: 11, edgeLabelFont: font,
    defaultDrawNodeLabel: node, defaultDrawNodeHover: hover,
    defaultDrawEdgeLabel: edge,
  };
}
