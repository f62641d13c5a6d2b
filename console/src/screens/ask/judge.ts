import { useLocalStorage } from "@mantine/hooks";
import { createClient } from "@connectrpc/connect";
import { useQuery as useRpc } from "@connectrpc/connect-query";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { refresh } from "@/app/queries";
import { chosenTenant } from "@/app/tenant";
import { transport } from "@/app/transport";
import { EvaluateService, type Question, type Relevant } from "@/gen/ragd/v1/evaluate_pb";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { notifyDone, notifyError } from "@/ui/notify";
import { useFeedback } from "./feedback";

const evaluations = createClient(EvaluateService, transport);

/** Judge stores what people say of results: a question with the passages that answer it, in a question set. */
export interface Judge {
  setName: string;
  setNames: string[];
  chooseSet: (name: string) => void;
  /** What was said of a result: up, down or nothing. */
  verdict: (source: Source) => "up" | "down" | "";
  /** Says it, or takes it back if it was said already. */
  say: (source: Source, verdict: "up" | "down") => void;
  /** Whether the question is stored as one that no document answers. */
  unanswerable: boolean;
  sayUnanswerable: () => void;
}

/** useJudge returns the judge of a question to an index. */
export function useJudge(question: string, indexName: string, wanted: boolean): Judge {
  const client = useQueryClient();
  const sets = useRpc(EvaluateService.method.listQuestionSets, { pageSize: 1000 }, { enabled: wanted });
  const [chosen, setChosen] = useLocalStorage({ key: `ragd.judgements.${indexName}`, defaultValue: "" });
  const known = sets.data?.questionSets ?? [];
  const setName = chosen || (known.find((set) => set.indexName === indexName)?.setName ?? `${indexName}-judged`.slice(-63));
  const exists = known.some((set) => set.setName === setName);
  const queryKey = ["judged", chosenTenant(), setName, question];
  const stored = useQuery({ queryKey, queryFn: ({ signal }) => find(setName, question, signal), enabled: wanted && exists, staleTime: 60_000 });
  const feedback = useFeedback(question, indexName);
  const queue = useRef(Promise.resolve()); // one change after the other
  const relevant = stored.data?.question?.relevant ?? [];

  /** change stores the question with other relevant passages, and deletes it when nothing is known of it any more. */
  function change(next: (old: Relevant[]) => Relevant[], unanswerable: boolean, done: string) {
    queue.current = queue.current.then(async () => {
      const { questionSets } = await evaluations.listQuestionSets({ pageSize: 1000 });
      if (!questionSets.some((set) => set.setName === setName)) await evaluations.createQuestionSet({ setName, indexName });
      const { question: old, questionId } = await find(setName, question);
      const passages = next(old?.relevant ?? []);
      if (passages.length > 0 || unanswerable || old?.answer) {
        await evaluations.putQuestions({ setName, questions: [{ questionId, text: question, answer: unanswerable ? "" : old?.answer, alternativeAnswers: unanswerable ? [] : old?.alternativeAnswers, relevant: passages, unanswerable }] });
      } else if (old) {
        await evaluations.deleteQuestions({ setName, questionIds: [questionId] });
      } else {
        return;
      }
      notifyDone(done);
      await client.invalidateQueries({ queryKey: ["judged", chosenTenant(), setName] });
      await refresh(EvaluateService);
    }).catch(notifyError);
  }
  const isUp = (source: Source) => relevant.some((passage) => same(passage, source));
  return {
    setName,
    setNames: [...new Set([...known.map((set) => set.setName), setName])],
    chooseSet: setChosen,
    verdict: (source) => (isUp(source) ? "up" : feedback.bad.has(source.id) ? "down" : ""),
    say(source, verdict) {
      const back = verdict === "up" ? isUp(source) : feedback.bad.has(source.id);
      feedback.say(source.id, verdict === "down" && !back);
      const without = (old: Relevant[]) => old.filter((passage) => !same(passage, source));
      if (verdict === "up" && !back) change((old) => [...without(old), passageOf(source)], false, `Saved in ${setName}: the passage answers the question.`);
      else if (isUp(source)) change(without, false, `Saved in ${setName}: the passage does not count as an answer.`);
      else if (verdict === "down") notifyDone(back ? "Taken back." : "Noted in this browser: the passage does not answer the question.");
    },
    unanswerable: stored.data?.question?.unanswerable ?? false,
    sayUnanswerable: () => change(() => [], true, `Saved in ${setName}: no document answers the question.`),
  };
}

/** find returns a question of a set by its text, and the id that it has or would have. */
async function find(setName: string, text: string, signal?: AbortSignal): Promise<{ question?: Question; questionId: string }> {
  const id = slug(text);
  let taken = false;
  for (let pageToken = ""; ;) {
    const page = await evaluations.listQuestions({ setName, pageSize: 1000, pageToken }, { signal });
    const question = page.questions.find((question) => question.text === text);
    if (question) return { question, questionId: question.questionId };
    taken ||= page.questions.some((question) => question.questionId === id);
    pageToken = page.nextPageToken;
    if (!pageToken) return { questionId: taken ? `${id}-${crypto.randomUUID().slice(0, 8)}` : id };
  }
}

function passageOf({ uri, startByte, endByte }: Source): Relevant {
  return (endByte > startByte ? { uri, startByte, endByte } : { uri }) as Relevant;
}

function same(passage: Relevant, source: Source): boolean {
  if (passage.uri !== source.uri) return false;
  return passage.startByte === undefined || passage.endByte === undefined || (passage.startByte === source.startByte && passage.endByte === source.endByte);
}

/** slug returns a short id made of a question's words. */
function slug(question: string): string {
  return question.toLowerCase().normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "question";
}
