import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { Anchor, Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { chosenTenant } from "@/app/tenant";
import { transport } from "@/app/transport";
import { AlertService, PreviewAlertRequestSchema, type PreviewedPassage } from "@/gen/ragd/v1/alert_pb";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { plural } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";

const alerts = createClient(AlertService, transport);

/** typing is how long the preview waits for the next letter, in ms. */
const typing = 400;

/** Preview shows which passages of the index would match an alert if they were new, and the most similar ones that would not. */
export function Preview({ alert }: { alert: JsonObject }) {
  const [draft] = useDebouncedValue(alert, typing);
  const request = requestOf(draft);
  const found = useQuery({
    queryKey: ["preview", chosenTenant(), request], enabled: request !== undefined, placeholderData: keepPreviousData, retry: false,
    queryFn: ({ signal }) => alerts.previewAlert(fromJson(PreviewAlertRequestSchema, request!), { signal }),
  });
  if (!request) return <Text size="sm" c="dimmed">Choose an index and write a question to see what would match.</Text>;
  const columns: Column<PreviewedPassage>[] = [
    { head: "Passage", cell: ({ source }) => source && <Found source={source} indexName={String(draft.indexName)} /> },
    ...(draft.searchMode === "keyword" ? [] : [{ head: "Similarity", cell: ({ source }: PreviewedPassage) => source?.score.toFixed(3), numeric: true, narrow: true }]),
    { head: "", cell: ({ matches }) => <Status value={matches ? "matches" : "does not match"} />, narrow: true },
  ];
  return (
    <section aria-label="Preview">
      <Loading query={found}>
        {({ passages, matchCount, comparedCount, complete }) => (
          <Stack gap="xs">
            <Text size="sm" role="status">{matchCount === 0 ? "None" : matchCount} of {complete ? "the" : "the newest"} {plural(comparedCount, "passage")} in the index now would match.</Text>
            {passages.length > 0 && <Table label="What would match" columns={columns} rows={passages} id={({ source }) => source?.id ?? ""} />}
          </Stack>
        )}
      </Loading>
    </section>
  );
}

function Found({ source, indexName }: { source: Source; indexName: string }) {
  const name = source.title || source.uri || source.id;
  return (
    <div dir="auto">
      {source.documentId ? <Anchor component={Link} size="sm" to={`/indexes/${encodeURIComponent(indexName)}/documents/${source.documentId}?chunk=${source.ordinal}`}>{name}</Anchor> : name}
      <Text size="sm" lineClamp={2}>{source.document}</Text>
    </div>
  );
}

/** requestOf returns the request that previews an alert, as JSON; none while something is missing. */
function requestOf({ indexName, queryText, searchMode, minScore, filter, namespace }: JsonObject): JsonObject | undefined {
  if (typeof queryText !== "string" || queryText.trim() === "" || !indexName) return undefined;
  const scored = searchMode !== "keyword" && typeof minScore === "number";
  return { indexName, queryText, ...(searchMode ? { searchMode } : {}), ...(scored ? { minScore } : {}), ...(filter ? { filter } : {}), ...(namespace ? { namespace } : {}) };
}
