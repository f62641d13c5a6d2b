import { ask, Failure, maxQuestion, type Service, type Turn } from "./ask";
import { element, list, paragraphs } from "./render";
import { style } from "./style";

/** Texts are what the box says, which attributes of its script change. */
interface Texts {
  button: string;
  title: string;
  placeholder: string;
  note: string;
}

/** Box is a button that opens a dialog, in which visitors ask. */
class Box {
  private readonly answers = element("div", { class: "answers", role: "region", "aria-label": "Answers", tabindex: "0", hidden: "" });
  private readonly status = element("div", { class: "hidden", role: "status", "aria-live": "polite" });
  private readonly input: HTMLInputElement;
  private readonly send = element("button", { type: "submit" }, "Ask");
  private readonly dialog = element("dialog", { "aria-labelledby": "title" });
  private readonly turns: Turn[] = [];
  private running: AbortController | undefined;

  constructor(private readonly service: Service, texts: Texts, root: ShadowRoot) {
    this.input = element("input", { type: "text", maxlength: String(maxQuestion), placeholder: texts.placeholder, "aria-label": texts.placeholder, autocomplete: "off", autofocus: "", required: "" });
    const open = element("button", { type: "button", class: "open", "aria-haspopup": "dialog" }, texts.button);
    const close = element("button", { type: "button", class: "quiet", "aria-label": "Close" }, "✕");
    const form = element("form", {}, this.input, this.send);
    this.dialog.append(element("header", {}, element("h2", { id: "title" }, texts.title), close), form, this.answers);
    if (texts.note) this.dialog.append(element("p", { class: "note" }, texts.note));
    this.dialog.append(this.status);
    root.append(open, this.dialog);
    open.addEventListener("click", () => this.dialog.showModal());
    close.addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.running?.abort());
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // the backdrop
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.running) this.running.abort();
      else void this.answer(this.input.value.trim());
    });
    // Keys of the page, such as one that opens its own search, do not count while somebody writes.
    this.dialog.addEventListener("keydown", (event) => event.stopPropagation());
  }

  private async answer(question: string): Promise<void> {
    if (question === "") return;
    const running = (this.running = new AbortController());
    const text = element("div", { "aria-busy": "true" });
    const section = element("section", {}, element("h3", { dir: "auto" }, question), text);
    this.answers.hidden = false;
    this.answers.prepend(section);
    this.answers.scrollTop = 0;
    this.input.value = "";
    this.send.textContent = "Stop";
    this.say("Looking for an answer.");
    try {
      const answer = await ask(this.service, this.turns, question, running.signal, (sofar) => text.replaceChildren(...paragraphs(sofar)));
      text.replaceChildren(...paragraphs(answer.text, answer.sources));
      if (answer.sources.length > 0) section.append(element("h3", {}, "Sources"), list(answer.sources));
      this.turns.push({ question, answer: answer.text });
      this.say(`${answer.text} ${answer.sources.length} ${answer.sources.length === 1 ? "source" : "sources"}.`);
    } catch (error) {
      const stopped = running.signal.aborted;
      const message = stopped ? "Stopped." : error instanceof Failure ? error.message : "The answer cannot be read.";
      section.append(element("p", stopped ? {} : { class: "error" }, message));
      this.say(message);
    } finally {
      text.removeAttribute("aria-busy");
      this.running = undefined;
      this.send.textContent = "Ask";
    }
  }

  /** say has screen readers read a text. */
  private say(text: string): void {
    this.status.textContent = text;
  }
}

function start(script: HTMLScriptElement): void {
  const { key, index, agent, button, title, placeholder, note } = script.dataset;
  if (!key || (!index && !agent)) {
    console.error("The answer box needs the attributes data-key, and data-index or data-agent.");
    return;
  }
  const service = { address: new URL(script.src).origin, key, model: agent ? `agent/${agent}` : `passages/${index}` };
  const texts = { button: button ?? "Ask", title: title ?? "Ask the documentation", placeholder: placeholder ?? "Your question", note: note ?? "" };
  const host = element("ragd-answer-box" as "div");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet(); // unlike an element <style>, no policy forbids it
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];
  new Box(service, texts, root);
  document.body.append(host);
}

const script = document.currentScript;
if (script instanceof HTMLScriptElement) {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => start(script), { once: true });
  else start(script);
}
