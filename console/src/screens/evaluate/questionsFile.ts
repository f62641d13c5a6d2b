import type { Question } from "@/gen/ragd/v1/evaluate_pb";

/** NewQuestion is a question as a call takes it. */
export interface NewQuestion {
  questionId: string;
  text: string;
  relevant: { uri: string; grade?: number; startByte?: number; endByte?: number }[];
  answer: string;
  alternativeAnswers: string[];
  unanswerable: boolean;
  drafted: boolean;
}

interface Line {
  id?: unknown;
  text?: unknown;
  uris?: string[];
  relevant?: NewQuestion["relevant"];
  answer?: string;
  alternativeAnswers?: string[];
  unanswerable?: boolean;
  drafted?: boolean;
}

/** headers are the first lines that a file of relevant documents may have. */
const headers = ["query_id\tdoc_id\trelevance", "query-id\tcorpus-id\tscore"];

/** lines returns the lines of a text that are not blank, with their numbers. */
function lines(text: string): [number: number, line: string][] {
  return text.replace(/^\uFEFF/, "").split("\n").map((line, i): [number, string] => [i + 1, line.replace(/\r$/, "")]).filter(([, line]) => line.trim() !== "");
}

/** readQuestions reads questions as JSON Lines. Errors begin with the number of the line. */
export function readQuestions(text: string): NewQuestion[] {
  const seen = new Map<string, number>();
  return lines(text).map(([number, line]) => {
    const question = readLine(line, number);
    const before = seen.get(question.questionId);
    if (before !== undefined) throw new Error(`Line ${number}: has the id ${question.questionId} of line ${before}.`);
    seen.set(question.questionId, number);
    return question;
  });
}

function readLine(line: string, number: number): NewQuestion {
  let fields: Line;
  try {
    fields = JSON.parse(line) as Line;
  } catch {
    throw new Error(`Line ${number}: is not JSON. The file must have one JSON object a line.`);
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) throw new Error(`Line ${number}: must be a JSON object.`);
  const { id, text, uris = [], relevant = [], answer = "", alternativeAnswers = [], unanswerable = false, drafted = false } = fields;
  if ((typeof id !== "string" && typeof id !== "number") || id === "") throw new Error(`Line ${number}: has no field "id" that names the question.`);
  if (typeof text !== "string" || text === "") throw new Error(`Line ${number}: has no field "text" with the question.`);
  const strings = (list: unknown) => Array.isArray(list) && list.every((item) => typeof item === "string");
  if (!strings(uris)) throw new Error(`Line ${number}: uris must be a list of strings.`);
  if (typeof answer !== "string" || !strings(alternativeAnswers)) throw new Error(`Line ${number}: answer must be a string, and alternativeAnswers a list of strings.`);
  if (!Array.isArray(relevant) || !relevant.every((r) => typeof r?.uri === "string")) throw new Error(`Line ${number}: relevant must be a list of objects with uri.`);
  return { questionId: String(id), text, relevant: [...uris.map((uri) => ({ uri })), ...relevant], answer, alternativeAnswers, unanswerable: unanswerable === true, drafted: drafted === true };
}

/** judge sets what is relevant to questions from lines of a question's id, a uri and a grade, separated by tabs. */
export function judge(questions: NewQuestion[], text: string): NewQuestion[] {
  const [first, ...rest] = lines(text);
  if (!first || !headers.includes(first[1])) throw new Error(`Line 1 of the relevant documents: must be query_id, doc_id and relevance with tabs between them.`);
  const relevant = new Map<string, { uri: string; grade: number }[]>();
  for (const [number, line] of rest) {
    const [id, uri, grade, ...others] = line.split("\t");
    if (id === undefined || uri === undefined || grade === undefined || others.length > 0) throw new Error(`Line ${number} of the relevant documents: must have 3 columns with tabs between them.`);
    if (grade.trim() === "" || Number.isNaN(Number(grade))) throw new Error(`Line ${number} of the relevant documents: relevance ${grade} is not a number.`);
    if (Number(grade) > 0) relevant.set(id, [...(relevant.get(id) ?? []), { uri, grade: Number(grade) }]);
  }
  return questions.map((question) => {
    const found = relevant.get(question.questionId) ?? [];
    return found.length > 0 ? { ...question, relevant: found, unanswerable: false } : { ...question, relevant: [], unanswerable: false, answer: "", alternativeAnswers: [] };
  });
}

/** isJudged reports whether it is known what answers a question. */
export function isJudged({ relevant, answer, unanswerable }: NewQuestion): boolean {
  return relevant.length > 0 || answer !== "" || unanswerable;
}

/** writeQuestion writes a question as a line that readQuestions reads. */
export function writeQuestion(question: Question): string {
  const { relevant, answer, alternativeAnswers, unanswerable, drafted } = question;
  const plain = relevant.every((r) => r.startByte === undefined && (r.grade === undefined || r.grade === 1));
  const line: Line = {
    id: question.questionId,
    text: question.text,
    ...(relevant.length > 0 && (plain
      ? { uris: relevant.map((r) => r.uri) }
      : { relevant: relevant.map(({ uri, grade, startByte, endByte }) => ({ uri, ...(grade !== undefined && grade !== 1 && { grade }), ...(startByte !== undefined && { startByte, endByte }) })) })),
    ...(answer && { answer }),
    ...(alternativeAnswers.length > 0 && { alternativeAnswers }),
    ...(unanswerable && { unanswerable }),
    ...(drafted && { drafted }),
  };
  return `${JSON.stringify(line)}\n`;
}
