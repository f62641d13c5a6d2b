import { useEffect, useRef } from "react";
import { useNavigate } from "react-router";
import { holdReads, queries } from "@/app/queries";

/**
 * useRemoval returns a function that deletes what the page shows and then shows another page. Until then nothing is read:
 * what a page asks again by itself, or after an event, may be gone.
 */
export function useRemoval(): (remove: () => Promise<unknown>, to: string) => Promise<void> {
  const navigate = useNavigate();
  const release = useRef<() => void>(undefined);
  useEffect(() => () => release.current?.(), []);
  return async (remove, to) => {
    release.current = holdReads();
    try {
      await remove();
      await queries.invalidateQueries({ refetchType: "none" });
      await navigate(to);
    } catch (error) {
      release.current();
      void queries.invalidateQueries();
      throw error;
    }
  };
}
