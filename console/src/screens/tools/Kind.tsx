import { Badge } from "@mantine/core";
import type { Tool } from "@/gen/ragd/v1/tool_pb";

/** Kind shows of which kind a tool is. */
export function Kind({ tool }: { tool: Tool }) {
  return <Badge variant="light" radius="sm" tt="none" miw="max-content" color={tool.builtin ? "gray" : "tide"}>{tool.builtin ? "builtin" : tool.kind}</Badge>;
}
