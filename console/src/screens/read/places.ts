import type { Source } from "@/gen/ragd/v1/query_pb";

/** Box is a rectangle in points from the top left corner of a page. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** PageBoxes is where a text stands on one page. */
export interface PageBoxes {
  page: number;
  width: number;
  height: number;
  boxes: Box[];
}

interface Position {
  page?: unknown;
  file?: unknown;
  boxes?: unknown;
}

function positionOf(source: Source): Position {
  return ((source.metadata ?? {}) as Record<string, unknown>)["position"] as Position | undefined ?? {};
}

/** pageOf returns the page to show of a source: where its best sentences begin. Undefined if it is on no page that can be shown. */
export function pageOf(source: Source): number | undefined {
  const { page, file } = positionOf(source);
  if (typeof page !== "number" || file !== undefined || source.documentId === "") return undefined;
  return source.highlight?.boxes[0]?.page ?? boxesOf(source)[0]?.page ?? page;
}

/** boxesOf returns where the text of a source stands. */
export function boxesOf(source: Source): PageBoxes[] {
  const { boxes } = positionOf(source);
  return Array.isArray(boxes) ? boxes as PageBoxes[] : [];
}
