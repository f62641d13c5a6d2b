import { useQuery } from "@connectrpc/connect-query";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { PromptService } from "@/gen/ragd/v1/prompt_pb";
import { ToolService } from "@/gen/ragd/v1/tool_pb";

const page = { pageSize: 1000 };
const calm = { retry: false, staleTime: 60_000 }; // they only help to type

/** useNames returns names that forms propose: those of the first 1,000 indexes, tools and prompts. busy: the indexes are not known yet. */
export function useNames(): { indexes: string[]; tools: string[]; prompts: string[]; busy: boolean } {
  const indexes = useQuery(IndexService.method.listIndexes, page, calm);
  const tools = useQuery(ToolService.method.listTools, { ...page, includeBuiltin: true }, calm);
  const prompts = useQuery(PromptService.method.listPrompts, page, calm);
  const builtin = ["answer_with_sources", "compare_documents", "summarise_document", "build_filter"];
  return {
    indexes: indexes.data?.indexNames ?? [],
    tools: tools.data?.tools.map((tool) => tool.toolName) ?? [],
    busy: indexes.isPending,
    prompts: [...(prompts.data?.prompts.map((prompt) => prompt.promptName) ?? []), ...builtin],
  };
}
