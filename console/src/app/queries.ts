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
