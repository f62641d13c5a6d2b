import type { QuestionResult } from "@/gen/ragd/v1/evaluate_pb";

/** Grade is how well a question was answered. */
export type Grade = "failed" | "partial" | "good" | "none";

const measure = (result: QuestionResult, ...names: string[]) => {
  const found = names.map((name) => result.measures.findLast((m) => m.name === name || m.name.startsWith(`${name}@`))).find((m) => m !== undefined);
  return found?.value;
};

/** score returns what an answer of an agent is worth, in [0,1], or undefined if that is not known. */
function score(result: QuestionResult): number | undefined {
  if (result.answer) {
    if (result.answer.error !== "") return 0;
    if (result.unanswerable) return result.answer.declined === undefined ? undefined : Number(result.answer.declined);
    return measure(result, "correctness", "f1", "citationRecall");
  }
  return result.unanswerable ? undefined : measure(result, "recall");
}

/** grade tells whether a question failed, was answered in part or well; "none" if nothing measures it. */
export function grade(result: QuestionResult): Grade {
  const value = score(result);
  if (value === undefined) return "none";
  return value === 0 ? "failed" : value < 0.999 ? "partial" : "good";
}

/** worstFirst orders results: failed ones first, and those that nothing measures last. */
export function worstFirst(a: QuestionResult, b: QuestionResult): number {
  const order = (result: QuestionResult) => score(result) ?? 2;
  const rank = (result: QuestionResult) => (result.firstRank === 0 ? Infinity : result.firstRank);
  const byRank = rank(b) - rank(a);
  return order(a) - order(b) || (Number.isNaN(byRank) ? 0 : byRank) || a.questionId.localeCompare(b.questionId);
}
