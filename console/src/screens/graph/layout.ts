import type { Walk } from "./walk";

/** LayoutRequest is what the worker lays out. The numbers of a node or link stand at its index. */
export interface LayoutRequest {
  /** x and y of each node at first. */
  positions: Float32Array;
  sizes: Float32Array;
  /** The two nodes of each link. */
  ends: Uint32Array;
  weights: Float32Array;
}

/** golden is the angle that spreads points evenly, in radians. */
const golden = Math.PI * (3 - Math.sqrt(5));

/**
 * start returns where the nodes are at first: in rings by their steps from the seeds, groups side
 * by side. It is the same for the same walk, and so is the whole layout.
 */
export function start(walk: Walk, group: (index: number) => number): Float32Array {
  const positions = new Float32Array(2 * walk.nodes.length);
  const seen = new Map<number, number>();
  for (const node of walk.nodes) {
    const of = group(node.index);
    const nth = seen.get(of) ?? 0;
    seen.set(of, nth + 1);
    const angle = (of + 2) * golden + 0.9 * Math.sin(nth * golden);
    const radius = 40 * (1 + Math.max(node.steps, 0)) + 6 * Math.sqrt(nth);
    positions[2 * node.index] = radius * Math.cos(angle);
    positions[2 * node.index + 1] = radius * Math.sin(angle);
  }
  return positions;
}

/** layOut moves the nodes until the returned function is called or they stand well; it reports positions several times. */
export function layOut(request: LayoutRequest, report: (positions: Float32Array, done: boolean) => void): () => void {
  const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<{ positions: Float32Array; done: boolean }>) => {
    report(data.positions, data.done);
    if (data.done) worker.terminate();
  };
  worker.postMessage(request);
  return () => worker.terminate();
}
