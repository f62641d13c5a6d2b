import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { Anchor, Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { chosenTenant } from "@/app/tenant";
import { transport } from "@/app/transport";
import { QueryService, VectorQueryRequestSchema, type Source } from "@/gen/ragd/v1/query_pb";
import { plural } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";

const queries = createClient(QueryService, transport);

/** shown is how many passages the preview looks at, and typing how long it waits for the next letter, in ms. */
const shown = 20;
const typing = 400;

/** Preview shows which passages of the index would match an alert if they were new, and the next ones that would not. */
export function Preview({ alert }: { alert: JsonObject }) {
  const [draft] = useDebouncedValue(alert, typing);
  const request = requestOf(draft);
  const found = useQuery({
    queryKey: ["preview", chosenTenant(), request], enabled: request !== undefined, placeholderData: keepPreviousData, retry: false,
    queryFn: ({ signal }) => queries.vectorQuery(fromJson(VectorQueryRequestSchema, request!), { signal }),
  });
  if (!request) return <Text size="sm" c="dimmed">Choose an index and write a question to see what would match.</Text>;
  const columns: Column<Source>[] = [
    { head: "Passage", cell: (source) => <Found source={source} indexName={String(draft.indexName)} /> },
    { head: "Similarity", cell: (source) => source.similarity?.toFixed(3), numeric: true, narrow: true },
    { head: "", cell: (source) => <Status value={matches(source, draft) ? "matches" : "does not match"} />, narrow: true },
  ];
  return (
    <section aria-label="Preview">
      <Loading query={found}>
        {({ sources }) => {
          const count = sources.filter((source) => matches(source, draft)).length;
          return (
            <Stack gap="xs">
              <Text size="sm" role="status">{sources.length === 0 ? "Nothing that is in the index now would match." : `Of the best ${plural(sources.length, "passage")} in the index now ${count === 0 ? "none" : count} would match.`}</Text>
              {modeOf(draft) === "keyword" && <Text size="xs" c="dimmed">The preview asks for every word, also for those such as “the” which an alert leaves out.</Text>}
              {sources.length > 0 && <Table label="What would match" columns={columns} rows={sources} id={(source) => source.id} />}
            </Stack>
          );
        }}
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

/** modeOf returns the search mode of an alert. */
function modeOf(alert: JsonObject): string {
  return typeof alert.searchMode === "string" && alert.searchMode ? alert.searchMode : "hybrid";
}

/** requestOf returns the query whose results come nearest to an alert, as JSON; none while something is missing. */
function requestOf(alert: JsonObject): JsonObject | undefined {
  const { indexName, queryText, filter, namespace } = alert;
  if (typeof queryText !== "string" || queryText.trim() === "" || !indexName) return undefined;
  const mode = modeOf(alert);
  return {
    indexName, searchMode: mode, topK: shown, profile: "none", distinct: false,
    ...(mode === "keyword" ? { queryText: allTerms(queryText), querySyntax: "web" } : { queryText }),
    ...(filter ? { filter } : {}), ...(namespace ? { namespace } : {}),
  };
}

/** allTerms quotes each word of a question: with the web syntax a passage must have them. */
function allTerms(question: string): string {
  return (question.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? []).map((word) => `"${word}"`).join(" ");
}

/** matches reports whether a source would match an alert. */
function matches(source: Source, alert: JsonObject): boolean {
  const mode = modeOf(alert);
  if (mode === "keyword") return true;
  const least = typeof alert.minScore === "number" ? alert.minScore : Infinity;
  return (source.similarity ?? -Infinity) >= least && (mode === "vector" || source.keywordScore !== undefined);
}
