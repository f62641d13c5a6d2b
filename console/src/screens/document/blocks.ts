import type { Chunk } from "@/gen/ragd/v1/chunk_pb";

/** Block is a part of a document's text: what a chunk adds to those before it, or what is in no chunk. */
export interface Block {
  /** Byte at which it begins. */
  start: number;
  text: string;
  chunk?: Chunk;
  /** Bytes of the chunk that the chunks before it have too. */
  repeated: number;
  /** Markdown that stands before the text and belongs to it: the fence of code, or the header of a table. */
  lead: string;
}

/**
 * blocks cuts a text at the borders of its chunks. The text begins at the document's first byte; chunks are
 * in reading order, and their ranges are in bytes of UTF-8. Chunks behind the end of the text are left out.
 */
export function blocks(text: string, chunks: Chunk[]): Block[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const cut = (from: number, to: number) => decoder.decode(bytes.subarray(from, to));
  const out: Omit<Block, "lead">[] = [];
  let shown = 0;
  for (const chunk of chunks) {
    if (chunk.startByte >= bytes.length) break;
    if (chunk.startByte > shown) {
      const between = cut(shown, chunk.startByte);
      if (between.trim() !== "") out.push({ start: shown, text: between, repeated: 0 });
      shown = chunk.startByte;
    }
    const end = Math.min(chunk.endByte, bytes.length);
    out.push({ start: shown, text: cut(shown, Math.max(end, shown)), chunk, repeated: shown - chunk.startByte });
    shown = Math.max(shown, end);
  }
  if (shown < bytes.length && (chunks.at(-1)?.endByte ?? 0) < bytes.length) {
    const rest = cut(shown, bytes.length);
    if (rest.trim() !== "") out.push({ start: shown, text: rest, repeated: 0 });
  }
  return withLeads(out);
}

const fence = /^ {0,3}(`{3,}|~{3,})/, row = /^\s*\|/, rule = /^\s*\|?[\s:|-]*-[\s:|-]*$/;

/** withLeads finds for each block which code or table it is in the middle of. */
function withLeads(blocks: Omit<Block, "lead">[]): Block[] {
  let code = "", head = "", table = "";
  return blocks.map((block) => {
    const lead = code ? `${code}\n` : row.test(block.text) ? table : "";
    for (const line of block.text.split("\n")) {
      const mark = fence.exec(line)?.[1] ?? "";
      if (code) {
        if (mark.startsWith(code)) code = "";
      } else if (mark) {
        code = mark;
        table = "";
      } else if (!row.test(line)) {
        if (line.trim() !== "") table = "";
        head = "";
      } else if (head && !table && rule.test(line)) {
        table = `${head}\n${line}\n`;
      } else {
        head = line;
      }
    }
    return { ...block, lead };
  });
}
