import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { useMemo } from "react";
import { UsageService } from "@/gen/ragd/v1/usage_pb";

/** days is how many days are shown, today among them. */
export const days = 14;
const day = 86_400_000;

/** Use is what was done on each day, the oldest first. */
export interface Use {
  from: Date;
  searches: number;
  documents: number;
}

/** useSearches returns the searches and the documents of the last days. */
export function useSearches(enabled: boolean): { isPending: boolean; error: unknown; total: number; use: Use[] } {
  const start = useMemo(() => new Date((Math.floor(Date.now() / day) - days + 1) * day), []);
  const usage = useQuery(UsageService.method.listUsage, { startTime: timestampFromDate(start), interval: "day", groupBy: ["stage"], pageSize: 1000 }, { enabled });
  const use = useMemo(() => {
    const use = Array.from({ length: days }, (_, i): Use => ({ from: new Date(start.getTime() + i * day), searches: 0, documents: 0 }));
    for (const { startTime, stage, calls, documents } of usage.data?.rows ?? []) {
      const row = startTime && use[Math.round((timestampDate(startTime).getTime() - start.getTime()) / day)];
      if (!row) continue;
      if (stage === "query" || stage === "walk") row.searches += calls;
      if (stage === "ingest") row.documents += documents;
    }
    return use;
  }, [usage.data, start]);
  return { isPending: usage.isPending && enabled, error: usage.error, total: use.reduce((sum, { searches }) => sum + searches, 0), use };
}
