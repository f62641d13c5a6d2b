import { createClient } from "@connectrpc/connect";
import { transport } from "@/app/transport";
import { EvaluateService } from "@/gen/ragd/v1/evaluate_pb";
import { notifyError } from "@/ui/notify";
import { save } from "@/ui/save";
import { writeQuestion } from "./questionsFile";

/** exportQuestions saves the questions of a set as a file that `ragd eval` reads. */
export async function exportQuestions(setName: string) {
  try {
    const parts: string[] = [];
    for (let pageToken = ""; ; ) {
      const page = await createClient(EvaluateService, transport).listQuestions({ setName, pageSize: 1000, pageToken });
      parts.push(...page.questions.map(writeQuestion));
      pageToken = page.nextPageToken;
      if (!pageToken) break;
    }
    save(`${setName}.jsonl`, parts, "application/jsonl");
  } catch (problem) {
    notifyError(problem);
  }
}
