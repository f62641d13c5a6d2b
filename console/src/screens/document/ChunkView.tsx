import { Button, Group } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import type { Chunk } from "@/gen/ragd/v1/chunk_pb";
import { Facts } from "@/ui/Facts";
import { bytes } from "@/ui/format";
import { Json } from "@/ui/Json";
import { Panel } from "@/ui/Page";

/** ChunkView shows what is stored with a chunk, and leads to its neighbours. */
export function ChunkView({ chunk, last, choose }: { chunk: Chunk; last: number; choose: (ordinal: number) => void }) {
  const { position, ...metadata } = (chunk.metadata ?? {}) as Record<string, unknown>;
  return (
    <Panel
      title={`Chunk ${chunk.ordinal}`}
      actions={(
        <Group gap={4}>
          <Button size="compact-xs" variant="default" disabled={chunk.ordinal === 0} leftSection={<IconArrowUp size={12} />} onClick={() => choose(chunk.ordinal - 1)}>Before</Button>
          <Button size="compact-xs" variant="default" disabled={chunk.ordinal >= last} leftSection={<IconArrowDown size={12} />} onClick={() => choose(chunk.ordinal + 1)}>After</Button>
        </Group>
      )}
    >
      <Facts
        facts={[
          ["Bytes", `${chunk.startByte} to ${chunk.endByte} (${bytes(chunk.endByte - chunk.startByte)})`],
          ["Tokens", chunk.tokenCount > 0 ? String(chunk.tokenCount) : ""],
          ...Object.entries((position ?? {}) as Record<string, unknown>).map(([name, value]): [string, string] => [name, typeof value === "string" ? value : JSON.stringify(value)]),
          ["Id", <small>{chunk.chunkId}</small>],
        ]}
      />
      <Json label="Metadata" value={metadata} />
    </Panel>
  );
}
