import { useEffect } from "react";

interface Paged {
  hasNextPage: boolean;
  isFetching: boolean;
  isError: boolean;
  fetchNextPage: () => unknown;
}

/** useAllPages loads the pages of an infinite query one after the other while wanted is true. */
export function useAllPages({ hasNextPage, isFetching, isError, fetchNextPage }: Paged, wanted = true) {
  useEffect(() => {
    if (wanted && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [wanted, hasNextPage, isFetching, isError, fetchNextPage]);
}
