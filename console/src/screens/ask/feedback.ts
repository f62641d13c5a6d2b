import { useLocalStorage } from "@mantine/hooks";
import { useSession } from "@/app/session";

/** keptQuestions is for how many questions of an index feedback is kept. */
const keptQuestions = 200;

/** Kept are the ids of the sources that were said not to help, by question, the last one first. */
type Kept = [question: string, ids: string[]][];

/** Feedback is what was said of sources that did not help. */
export interface Feedback {
  bad: ReadonlySet<string>;
  /** Says that a source did not help, or takes that back. */
  say: (sourceId: string, bad: boolean) => void;
}

/**
 * useFeedback returns which sources of a question were said not to help. The service stores only passages that answer a
 * question, so this is kept in the browser, for the tenant, the index and the question. A call that stores feedback
 * belongs into say, and the answer of one that reads it into bad.
 */
export function useFeedback(question: string, indexName: string): Feedback {
  const { tenant } = useSession();
  const [kept, setKept] = useLocalStorage<Kept>({ key: `ragd.feedback.${tenant}.${indexName}`, defaultValue: [], getInitialValueInEffect: false });
  return {
    bad: new Set(kept.find(([text]) => text === question)?.[1]),
    say: (sourceId, bad) => setKept((old) => {
      const ids = new Set(old.find(([text]) => text === question)?.[1]);
      if (bad) ids.add(sourceId);
      else ids.delete(sourceId);
      const others = old.filter(([text]) => text !== question);
      return (ids.size > 0 ? [[question, [...ids]] satisfies Kept[number], ...others] : others).slice(0, keptQuestions);
    }),
  };
}
