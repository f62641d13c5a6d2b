import { useLocalStorage } from "@mantine/hooks";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { EvaluateService, type Question } from "@/gen/ragd/v1/evaluate_pb";
import { notifyDone, notifyError } from "@/ui/notify";

const evaluations = createClient(EvaluateService, transport);

/** keptQuestions is for how many questions of an index the browser remembers what was said. */
const keptQuestions = 200;

type Verdict = "up" | "down";

/** Kept are the verdicts on sources by question, the last question first. */
type Kept = [question: string, verdicts: Record<string, Verdict>][];

/** Judge records what people say of the sources of an answer. */
export interface Judge {
  /** What was said of a source: up, down or nothing. */
  verdict: (sourceId: string) => Verdict | "";
  /** Says it, or takes it back if it was said already. */
  say: (sourceId: string, verdict: Verdict) => void;
}

/**
 * useJudge returns the judge of an answer, which its queryId names. The service stores judgements in a question set; what
 * the caller has said is also kept in the browser, since the service does not tell whose a judgement is.
 */
export function useJudge(question: string, indexName: string, queryId: string): Judge {
  const { tenant, who } = useSession();
  const [kept, setKept] = useLocalStorage<Kept>({ key: `ragd.judged.${tenant}.${who.subject}.${indexName}`, defaultValue: [], getInitialValueInEffect: false });
  const queue = useRef(Promise.resolve()); // one change after the other
  const verdicts = kept.find(([text]) => text === question)?.[1] ?? {};
  const keep = (sourceId: string, verdict?: Verdict) => setKept((old) => {
    const { [sourceId]: _, ...others } = old.find(([text]) => text === question)?.[1] ?? {};
    const now: Record<string, Verdict> = verdict ? { ...others, [sourceId]: verdict } : others;
    const rest = old.filter(([text]) => text !== question);
    return (Object.keys(now).length > 0 ? [[question, now] satisfies Kept[number], ...rest] : rest).slice(0, keptQuestions);
  });
  async function record(sourceId: string, verdict?: Verdict): Promise<string> {
    const { setName } = await evaluations.recordFeedback({ queryId, source: sourceId, ...(verdict ? { helpful: verdict === "up" } : { withdraw: true }) });
    await refresh(EvaluateService);
    if (!verdict) return "Taken back.";
    return verdict === "up" ? `Saved in ${setName}: the passage answers the question.` : `Saved in ${setName}: the passage does not answer the question.`;
  }
  return {
    verdict: (sourceId) => verdicts[sourceId] ?? "",
    say(sourceId, verdict) {
      const before = verdicts[sourceId];
      const now = before === verdict ? undefined : verdict;
      keep(sourceId, now);
      queue.current = queue.current.then(() => record(sourceId, now)).then(notifyDone).catch((error: unknown) => {
        if (!now && ConnectError.from(error).code === Code.NotFound) return; // the set was deleted, and the judgement with it
        keep(sourceId, before);
        notifyError(error);
      });
    },
  };
}

/** Unanswered is whether a question is stored as one that no document answers. */
export interface Unanswered {
  setName: string;
  stored: boolean;
  /** Stores it, or takes it back. */
  toggle: () => void;
}

/** useUnanswered returns whether a question to an index is stored as one that no document answers. */
export function useUnanswered(question: string, indexName: string, wanted: boolean): Unanswered {
  const { tenant } = useSession();
  const setName = `unanswered-${indexName}`.slice(0, 63);
  const stored = useQuery({ queryKey: ["unanswered", tenant, setName], queryFn: ({ signal }) => read(setName, signal), enabled: wanted, staleTime: 60_000 });
  const busy = useRef(false);
  async function change() {
    const { exists, questions } = await read(setName);
    const old = questions.find(({ text }) => text === question);
    if (old) {
      await evaluations.deleteQuestions({ setName, questionIds: [old.questionId] });
    } else {
      if (!exists) await evaluations.createQuestionSet({ setName, indexName, description: `Questions that no document of ${indexName} answers` });
      await evaluations.putQuestions({ setName, questions: [{ questionId: crypto.randomUUID(), text: question, unanswerable: true }] });
    }
    notifyDone(old ? "Taken back." : `Saved in ${setName}: no document answers the question.`);
    await stored.refetch();
    await refresh(EvaluateService);
  }
  return {
    setName,
    stored: stored.data?.questions.some(({ text }) => text === question) ?? false,
    toggle() {
      if (busy.current) return;
      busy.current = true;
      void change().catch(notifyError).finally(() => {
        busy.current = false;
      });
    },
  };
}

/** read returns the questions of a set, and whether there is the set. */
async function read(setName: string, signal?: AbortSignal): Promise<{ exists: boolean; questions: Question[] }> {
  const questions: Question[] = [];
  const { questionSets } = await evaluations.listQuestionSets({ pageSize: 1000 }, { signal });
  if (!questionSets.some((set) => set.setName === setName)) return { exists: false, questions };
  for (let pageToken = ""; ;) {
    const page = await evaluations.listQuestions({ setName, pageSize: 1000, pageToken }, { signal });
    questions.push(...page.questions);
    if (!page.nextPageToken) return { exists: true, questions };
    pageToken = page.nextPageToken;
  }
}
