import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { QueryClient } from "@tanstack/react-query";

const passing = new Set([Code.Unavailable, Code.Aborted, Code.DeadlineExceeded, Code.Unknown]);

/** passes reports whether an error may pass by itself: the service is down, or busy. */
export function passes(error: unknown): boolean {
  return passing.has(ConnectError.from(error).code);
}

/** queries caches answers of the service, and asks again while it is down: after 1, 2, 4 and up to 15 s. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => passes(error) && failures < 8,
      retryDelay: (failures) => Math.min(1000 * 2 ** failures, 15_000),
      staleTime: 5_000,
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false },
  },
});

/** serviceOf returns the service of a query's key, as connect-query writes it. */
export function serviceOf(key: readonly unknown[]): string {
  const rpc = key[1] as { serviceName?: string } | undefined;
  return key[0] === "connect-query" ? (rpc?.serviceName ?? "") : "";
}

let held: Promise<void> | undefined;

/** unheld waits until reading goes on, see holdReads. */
export async function unheld(): Promise<void> {
  while (held) await held;
}

/** holdReads breaks off what is being read, and lets what is read next wait until the function that it returns is called. */
export function holdReads(): () => void {
  let release = () => {};
  const hold = new Promise<void>((resolve) => (release = resolve));
  held = hold;
  void queries.cancelQueries(); // aborts at once
  return () => {
    if (held === hold) held = undefined;
    release();
  };
}

/** refresh asks the queries of a service again, after a change that sends no event. */
export function refresh(service: DescService): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey }) => serviceOf(queryKey) === service.typeName });
}
