import { useQuery } from "@tanstack/react-query";
import { chosenTenant } from "@/app/tenant";
import { ask } from "./run";
import type { AskSettings } from "./settings";

/** useAnswer asks a question; components that ask the same in the same way share the answer. */
export function useAnswer(question: string, settings: AskSettings, boxes = false) {
  return useQuery({
    queryKey: ["ask", chosenTenant(), question, settings, boxes], queryFn: ({ signal }) => ask(question, settings, boxes, signal),
    enabled: question !== "" && settings.index !== "", staleTime: 60_000, placeholderData: (last) => last,
  });
}
