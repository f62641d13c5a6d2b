import { Autocomplete, Select } from "@mantine/core";
import { createQueryOptions, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { IndexService } from "@/gen/ragd/v1/index_pb";

interface Props {
  indexNames: string[];
  value: string;
  onChange: (profile: string) => void;
}

/** ProfileSelect chooses a ranking profile of the indexes that are asked; it is not shown if they have none. */
export function ProfileSelect({ indexNames, value, onChange }: Props) {
  const profiles = useProfiles(indexNames);
  if (profiles.length === 0 && value === "") return null;
  const data = [{ value: "", label: "Default" }, { value: "none", label: "None" }, ...[...new Set([...profiles, value])].filter((name) => name && name !== "none")];
  if (value.includes("@")) return <Autocomplete label="Ranking profile" data={profiles} value={value} onChange={onChange} />;
  return <Select label="Ranking profile" data={data} value={value} onChange={(profile) => onChange(profile ?? "")} allowDeselect={false} />;
}

/** useProfiles returns the names of the ranking profiles of indexes. */
export function useProfiles(indexNames: string[]): string[] {
  const transport = useTransport();
  const answers = useQueries({
    queries: indexNames.map((indexName) => ({ ...createQueryOptions(IndexService.method.listRankingProfiles, { indexName }, { transport }), staleTime: 60_000, retry: false })),
  });
  return [...new Set(answers.flatMap(({ data }) => data?.profiles ?? []).map(({ profileName }) => profileName))].toSorted();
}
