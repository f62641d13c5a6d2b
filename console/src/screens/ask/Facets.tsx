import { Checkbox, Stack, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { fromJson, toJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { chosenTenant } from "@/app/tenant";
import { transport } from "@/app/transport";
import { CountChunksRequestSchema, QueryService, type CountChunksResponse } from "@/gen/ragd/v1/query_pb";
import { ErrorView } from "@/ui/ErrorView";
import { count, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import classes from "./Ask.module.css";
import { chosenIn, toggled } from "./filter";
import { parseObject, type AskSettings } from "./settings";
import { useFields } from "./useFields";

const queries = createClient(QueryService, transport);

/** What is counted: the best passages of each index, so many fields, and of each so many values. */
const nearest = 100, most = 8, values = 8;

/** mostIndexes is in how many indexes values are counted at most. */
export const mostIndexes = 8;

interface Props {
  question: string;
  settings: AskSettings;
  /** The names of the indexes that are asked. */
  indexNames: string[];
  onFilter: (filter: string) => void;
}

/** Facets counts the values of metadata in what a question finds, and filters by those that are chosen. */
export function Facets({ question, settings, indexNames, onFilter }: Props) {
  const wide = useMediaQuery("(min-width: 62em)", window.innerWidth >= 992, { getInitialValueInEffect: false });
  const fields = useFields(indexNames).slice(0, 2 * most).map(({ name }) => name);
  const requests = indexNames.flatMap((indexName) => requestOf(question, settings, indexName, fields) ?? []);
  const answer = useQuery({
    queryKey: ["facets", chosenTenant(), requests], enabled: requests.length > 0 && fields.length > 0, staleTime: 60_000, retry: false, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => Promise.all(requests.map((message) => queries.countChunks(fromJson(CountChunksRequestSchema, message), { signal }))),
  });
  const facets = summed(fields, answer.data ?? [], settings.filter);
  if (!answer.isError && facets.length === 0) return null;
  const counted = (answer.data ?? []).reduce((sum, { chunkCount }) => sum + chunkCount, 0);
  return (
    <aside className={classes.facets} aria-label="Facets">
      <Panel>
        <details open={wide} key={String(wide)}>
          <summary>Facets of {plural(counted, "passage")}</summary>
          {answer.isError && <ErrorView error={answer.error} />}
          <Stack gap="sm" mt="xs">
            {facets.map((facet) => <Values key={facet.field} facet={facet} filter={settings.filter} onFilter={onFilter} />)}
          </Stack>
        </details>
      </Panel>
    </aside>
  );
}

/** Facet is a field and how often its values were found, the most frequent first. */
interface Facet {
  field: string;
  values: { value: JsonValue; count: number }[];
}

function Values({ facet, filter, onFilter }: { facet: Facet; filter: string; onFilter: (filter: string) => void }) {
  const chosen = chosenIn(filter, facet.field);
  const shown = [...facet.values.slice(0, values), ...facet.values.slice(values).filter(({ value }) => chosen?.includes(value))];
  const absent = (chosen ?? []).filter((value) => facet.values.every((other) => other.value !== value));
  return (
    <fieldset className={classes.facet}>
      <legend dir="auto">{facet.field}</legend>
      {[...shown, ...absent.map((value) => ({ value, count: 0 }))].map(({ value, count: number }) => (
        <Checkbox
          key={JSON.stringify(value)} size="xs" checked={chosen?.includes(value) ?? false} disabled={chosen === undefined}
          label={<><span dir="auto">{String(value)}</span> <Text span inherit c="dimmed">{count(number)}</Text></>}
          onChange={() => onFilter(toggled(filter, facet.field, value))}
        />
      ))}
      {facet.values.length > shown.length && <Text size="xs" c="dimmed">and {count(facet.values.length - shown.length)} more</Text>}
    </fieldset>
  );
}

/** requestOf returns the count in what a question finds in an index, as JSON; none while the filter is not JSON. */
function requestOf(question: string, settings: AskSettings, indexName: string, fields: string[]): JsonObject | undefined {
  const filter = parseObject(settings.filter, "The filter");
  if (filter.problem) return undefined;
  return {
    indexName, queryText: question, nearest, facets: fields.map((field) => ({ field, limit: 20, withoutOwnFilter: true })),
    ...(settings.mode && settings.mode !== "graph" && { searchMode: settings.mode }), ...(filter.value && { filter: filter.value }), ...(settings.namespace && { namespace: settings.namespace }),
  };
}

/** instant is a time, of which hardly two are the same. */
const instant = /^\d{4}-\d\d-\d\dT/;

/**
 * summed adds the counts of several indexes. A field is left out if it has one value alone that the filter does not name, if nearly
 * every passage has another one, and if they are times.
 */
function summed(fields: string[], answers: CountChunksResponse[], filter: string): Facet[] {
  const facets = fields.map((field): Facet => {
    const counts = new Map<JsonValue, number>();
    for (const answer of answers) {
      for (const { value, chunkCount } of answer.facets.find((facet) => facet.field === field)?.values ?? []) {
        if (!value) continue;
        const key = toJson(ValueSchema, value);
        counts.set(key, (counts.get(key) ?? 0) + chunkCount);
      }
    }
    return { field, values: [...counts].map(([value, count]) => ({ value, count })).toSorted((a, b) => b.count - a.count) };
  });
  return facets.filter(({ field, values: found }) => (found.length > 1 || found.length > 0 && (chosenIn(filter, field) ?? []).length > 0) && (found.length <= values || found[0]!.count > 1) && !found.some(({ value }) => instant.test(String(value)))).slice(0, most);
}
