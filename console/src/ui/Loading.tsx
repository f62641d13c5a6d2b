import { Skeleton, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { ErrorView } from "./ErrorView";

interface Query<Data> {
  isPending: boolean;
  data?: Data;
  error: unknown;
  refetch: () => unknown;
}

/** Loading shows the answer of a query; until it is there its outline, and why it failed. */
export function Loading<Data>({ query, children }: { query: Query<Data>; children: (data: Data) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.isPending) return <Lines />;
  return <ErrorView error={query.error} retry={() => void query.refetch()} />;
}

/** Lines stand where something is shown as soon as it is known. */
export function Lines() {
  return <Stack gap="xs" aria-busy><Skeleton h={28} /><Skeleton h={28} /><Skeleton h={28} /></Stack>;
}
