/** Source is a document that an answer cites. */
export interface Source {
  number: number;
  title: string;
  /** url is the address of the document, "" if it has none that a page may link to. */
  url: string;
}

/** Turn is a question and its answer. */
export interface Turn {
  question: string;
  answer: string;
}

/** Service is what the box asks, from the attributes of its script. */
export interface Service {
  address: string;
  key: string;
  model: string;
}

/** Failure is an error whose message is for visitors. */
export class Failure extends Error {}

/** The longest question, in characters. */
export const maxQuestion = 1000;
const keptTurns = 3;

interface Annotation {
  url_citation: { url: string; title: string; start_index: number; end_index: number };
}

interface Piece {
  error?: { message?: string };
  choices?: { delta?: { content?: string; annotations?: Annotation[] } }[];
}

/**
 * ask asks a question after the turns before it, and calls onText with the text of the answer as it grows. It
 * returns the text and its sources. It fails with a Failure, or with an AbortError when signal ends it.
 */
export async function ask(service: Service, before: Turn[], question: string, signal: AbortSignal, onText: (text: string) => void): Promise<{ text: string; sources: Source[] }> {
  const messages = before.slice(-keptTurns).flatMap((turn) => [{ role: "user", content: turn.question }, { role: "assistant", content: turn.answer }]);
  let response: Response;
  try {
    response = await fetch(`${service.address}/v1/chat/completions`, {
      method: "POST",
      headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json", "Ragd-Footnotes": "false" },
      body: JSON.stringify({ model: service.model, stream: true, messages: [...messages, { role: "user", content: question }] }),
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Failure("The service cannot be reached from this page.");
  }
  if (!response.ok) throw await refused(response);
  let text = "";
  let finished = false;
  const sources = new Map<number, Source>();
  for await (const data of events(response, signal)) {
    if (data === "[DONE]") {
      finished = true;
      break;
    }
    const piece = JSON.parse(data) as Piece;
    if (piece.error) throw new Failure(piece.error.message ?? "The answer was interrupted.");
    const delta = piece.choices?.[0]?.delta;
    if (delta?.content) onText((text += delta.content));
    for (const source of cited(text, delta?.annotations ?? [])) sources.set(source.number, source);
  }
  if (!finished) throw new Failure("The answer was interrupted.");
  return { text, sources: [...sources.values()].sort((a, b) => a.number - b.number) };
}

/** cited returns the sources of the markers in a text, such as [1, 2], which has an annotation for each number. */
function cited(text: string, annotations: Annotation[]): Source[] {
  const characters = [...text]; // places in the text count characters, not units of UTF-16
  const markers = new Map<number, Annotation[]>();
  for (const annotation of annotations) {
    const start = annotation.url_citation.start_index;
    markers.set(start, [...(markers.get(start) ?? []), annotation]);
  }
  return [...markers.values()].flatMap((group) => {
    const { start_index, end_index } = group[0]!.url_citation;
    const numbers = characters.slice(start_index, end_index).join("").match(/\d+/g) ?? [];
    if (numbers.length !== group.length) return []; // which is whose cannot be told
    return group.map(({ url_citation: { url, title } }, i) => ({ number: Number(numbers[i]), title: title || url, url: linkable(url) }));
  });
}

/** refused returns the failure that a response describes. */
async function refused(response: Response): Promise<Failure> {
  const after = Number(response.headers.get("Retry-After"));
  if (response.status === 429 || response.status === 503) return new Failure(`The service is busy. Try again ${after > 0 ? `in ${after} seconds` : "later"}.`);
  const body = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
  return new Failure(body.error?.message ?? `The service answers with ${response.status}.`);
}

/** linkable returns an address that a page may link to, or "". */
function linkable(address: string): string {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : "";
  } catch {
    return "";
  }
}

/** events yields the data of the events of a response. */
async function* events(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line.startsWith("data: ")) yield line.slice(6);
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Failure("The connection to the service was lost.");
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
