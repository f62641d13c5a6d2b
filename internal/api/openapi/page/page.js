// Shows the OpenAPI document of the service and makes calls. It has no state but the address and the fields.

/** make returns an element; properties that are no fields of it are attributes. Children are elements and texts, which are never read as HTML. */
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key in element) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const main = document.getElementById("main");
const list = document.getElementById("list");
const search = document.getElementById("search");
const key = document.getElementById("key");
const keyName = "ragd-api-key";
key.value = sessionStorage.getItem(keyName) ?? "";
key.addEventListener("input", () => sessionStorage.setItem(keyName, key.value.trim()));

let api;
/** @type {{service: string, name: string, path: string, post: any}[]} */
let calls = [];

const resolve = (schema) => (schema?.$ref ? { ...api.components.schemas[schema.$ref.split("/").pop()], ...(schema.description ? { description: schema.description } : {}) } : (schema ?? {}));
const nameOf = (schema) => schema?.$ref?.split("/").pop();
const requestOf = (post) => post.requestBody?.content["application/json"];

/** typeOf describes the type of a field in a few words. */
function typeOf(schema) {
  if (schema.$ref) return nameOf(schema);
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === "object" && typeof schema.additionalProperties === "object") return `map to ${typeOf(schema.additionalProperties)}`;
  if (schema.format === "byte") return "bytes in base64";
  return schema.type ? `${schema.type}${schema.format && schema.type !== "object" ? ` (${schema.format})` : ""}` : "any value";
}

/** fields lists the fields of a schema; those of messages within are listed when they are opened. */
function fields(schema) {
  const properties = Object.entries(resolve(schema).properties ?? {});
  if (properties.length === 0) return make("p", { className: "dim" }, "No fields.");
  return make("div", { className: "fields" }, ...properties.map(([name, field]) => {
    const inner = field.$ref ? field : field.items?.$ref ? field.items : field.additionalProperties?.$ref ? field.additionalProperties : null;
    let more = null;
    if (inner) {
      more = make("details", {}, make("summary", {}, `Fields of ${nameOf(inner)}`));
      more.addEventListener("toggle", () => { if (more.open && more.children.length === 1) more.append(fields(inner)); });
    }
    return make("div", {}, make("div", {}, make("code", {}, name), make("div", { className: "dim" }, typeOf(field))), make("div", {}, field.description ?? resolve(field).description ?? ""), more);
  }));
}

/** draft returns a message to begin with: the example, else the first fields, empty. */
function draft(request) {
  if (request.example) return request.example;
  const message = {};
  for (const [name, field] of Object.entries(resolve(request.schema).properties ?? {})) {
    if (/^(pageToken|pageSize)$/.test(name) || Object.keys(message).length === 3) continue;
    if (field.type === "string") message[name] = "";
    else if (field.type === "array") message[name] = [];
  }
  return message;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const curl = (path, body) => `curl ${location.origin}${path} \\\n  -H "Authorization: Bearer $RAGD_API_KEY" -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`;

/** show shows a call. */
function show(call) {
  const request = requestOf(call.post);
  const body = make("textarea", { id: "body", spellcheck: false, value: JSON.stringify(draft(request), null, 2) });
  const shell = make("pre", { id: "curl" });
  const state = make("span", { id: "state", role: "status" });
  const answer = make("pre", { id: "answer", hidden: true, tabIndex: 0 });
  const send = make("button", { id: "send", type: "button" }, "Send");
  const copy = make("button", { type: "button", className: "plain" }, "Copy as curl");
  const compact = () => { try { return JSON.stringify(JSON.parse(body.value)); } catch { return body.value; } };
  const update = () => { shell.textContent = curl(call.path, compact()); };
  body.addEventListener("input", update);
  update();
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(shell.textContent);
    state.className = ""; state.textContent = "Copied.";
  });
  const run = async () => {
    state.className = "";
    try { JSON.parse(body.value); } catch (error) {
      state.className = "bad"; state.textContent = `The message is not valid JSON: ${error.message}`;
      return;
    }
    send.disabled = true; state.textContent = "Waiting…";
    const begun = performance.now();
    try {
      const headers = { "Content-Type": "application/json" };
      if (key.value.trim()) headers.Authorization = `Bearer ${key.value.trim()}`;
      const response = await fetch(call.path, { method: "POST", headers, body: body.value });
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* no JSON: shown as it is */ }
      state.className = response.ok ? "good" : "bad";
      state.textContent = `${response.status} ${response.ok ? "OK" : "refused"} in ${Math.round(performance.now() - begun)} ms`;
      if (response.status === 401 && !key.value.trim()) state.textContent += ": enter a key above, or sign in to the console";
      answer.textContent = shown;
    } catch (error) {
      state.className = "bad"; state.textContent = `No answer: ${error.message}`;
      answer.textContent = "";
    }
    answer.hidden = answer.textContent === "";
    send.disabled = false;
  };
  send.addEventListener("click", run);
  body.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); });

  const errors = Object.entries(call.post.responses).filter(([status]) => status !== "200");
  main.replaceChildren(
    make("h2", {}, `${call.service}.${call.name}`),
    make("p", { className: "dim" }, make("code", {}, `POST ${call.path}`)),
    make("p", {}, call.post.description ?? ""),
    make("h3", {}, make("label", { htmlFor: "body" }, "Message")), body,
    make("div", { className: "actions" }, send, copy, state), answer,
    make("h3", {}, "With curl"), shell,
    make("h3", {}, `Fields of the message: ${nameOf(request.schema)}`), fields(request.schema),
    make("h3", {}, `Fields of the answer: ${nameOf(call.post.responses["200"].content["application/json"].schema)}`), fields(call.post.responses["200"].content["application/json"].schema),
    make("h3", {}, "Errors"),
    make("div", { className: "fields" }, ...errors.map(([status, error]) => make("div", {}, make("code", {}, status), make("div", {}, error.description)))),
  );
  document.title = `${call.name} – the API of ragd`;
}

/** overview shows what the document says of the API as a whole. */
function overview() {
  document.title = "The API of ragd";
  main.replaceChildren(
    make("h2", {}, "Try a call"),
    make("p", {}, api.info.description),
    make("p", {}, "Enter a key above, or sign in to ", make("a", { href: "/" }, "the console"), ", choose a call, change its message and send it. Calls act on the tenant of the key."),
    make("ul", {}, ...["IndexService/CreateIndex", "DocumentService/UploadDocument", "QueryService/VectorQuery", "QueryService/GraphRag"].map((id) =>
      make("li", {}, make("a", { href: `#${id}` }, id.replace("/", ".")), ` – ${calls.find((call) => `${call.service}/${call.name}` === id)?.post.summary ?? ""}`))),
    make("p", {}, "Generators of clients read ", make("a", { href: "/openapi.json" }, "openapi.json"), "."),
  );
}

/** route shows what the address names. */
function route() {
  const id = decodeURIComponent(location.hash.slice(1));
  const call = calls.find((one) => `${one.service}/${one.name}` === id);
  for (const link of list.querySelectorAll("a")) {
    if (link.hash.slice(1) === id) { link.setAttribute("aria-current", "true"); link.closest("details").open = true; } else link.removeAttribute("aria-current");
  }
  if (call) show(call); else overview();
  window.scrollTo(0, 0);
}

/** first are the services that newcomers call first. */
const first = ["QueryService", "DocumentService", "IndexService"];
const rank = (service) => (first.includes(service) ? first.indexOf(service) : first.length);

/** fill lists the calls whose name or description has the words of the search. */
function fill() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = calls.filter((call) => words.every((word) => `${call.service} ${call.name} ${call.post.summary}`.toLowerCase().includes(word)));
  const services = [...new Set(matching.map((call) => call.service))].sort((a, b) => rank(a) - rank(b));
  list.replaceChildren(...services.map((service) => make("details", { open: words.length > 0 }, make("summary", {}, service), make("ul", {}, ...matching.filter((call) => call.service === service).map((call) =>
    make("li", {}, make("a", { href: `#${service}/${call.name}`, title: call.post.summary }, call.name)))))));
  if (services.length === 0) list.replaceChildren(make("p", { className: "dim" }, "No call has these words."));
}

try {
  api = await (await fetch("/openapi.json")).json();
  calls = Object.entries(api.paths).map(([path, { post }]) => ({ service: post.tags[0], name: path.split("/").pop(), path, post }));
  fill();
  search.addEventListener("input", fill);
  addEventListener("hashchange", route);
  route();
} catch (error) {
  main.replaceChildren(make("p", { className: "bad" }, `The document cannot be read: ${error.message}`));
}
