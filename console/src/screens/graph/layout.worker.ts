// Computes where the nodes of a graph are drawn, beside the page's own thread.
import { MultiGraph } from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import type { LayoutRequest } from "./layout";

/** rounds is how often positions are reported. */
const rounds = 12;

self.onmessage = ({ data }: MessageEvent<LayoutRequest>) => {
  const graph = new MultiGraph();
  const nodes = data.positions.length / 2;
  for (let i = 0; i < nodes; i++) graph.addNode(i, { x: data.positions[2 * i], y: data.positions[2 * i + 1], size: data.sizes[i] });
  for (let i = 0; i < data.weights.length; i++) {
    graph.addEdge(data.ends[2 * i]!, data.ends[2 * i + 1]!, { weight: data.weights[i] });
  }
  const settings = { ...forceAtlas2.inferSettings(graph), linLogMode: true, gravity: 0.4, scalingRatio: 4, barnesHutOptimize: nodes > 400, adjustSizes: nodes <= 400 };
  const iterations = Math.max(4, Math.ceil((nodes > 400 ? 180 : 480) / rounds));
  for (let round = 0; round < rounds; round++) {
    forceAtlas2.assign(graph, { iterations, settings });
    const positions = new Float32Array(2 * nodes);
    graph.forEachNode((node, { x, y }) => {
      positions[2 * Number(node)] = x as number;
      positions[2 * Number(node) + 1] = y as number;
    });
    self.postMessage({ positions, done: round === rounds - 1 }, { transfer: [positions.buffer] });
  }
};
