// A chat model that speaks OpenAI's API over HTTP. It answers the last message: a scripted
// answer if one was given for a piece of the message, else a sentence. A scripted tool call is
// made once, and its result is answered from.
import { createServer } from "node:http";

/** startModel serves POST /chat/completions and, for scripts, PUT /script {piece, answer, tool, arguments}. */
export async function startModel() {
  const scripts = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const message = JSON.parse(body || "{}");
    if (request.method === "PUT") {
      scripts.unshift(message);
      response.end();
      return;
    }
    if (!request.url.endsWith("/chat/completions")) {
      response.writeHead(404).end();
      return;
    }
    answer(message, scripts, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

function answer(request, scripts, response) {
  const last = request.messages.at(-1);
  const asked = request.messages.findLast((m) => m.role === "user")?.content ?? "";
  const text = typeof asked === "string" ? asked : asked.map((part) => part.text ?? "").join(" ");
  const script = scripts.find((s) => text.includes(s.piece));
  const calls = script?.tool && last.role !== "tool";
  const message = calls
    ? { role: "assistant", content: null, tool_calls: [{ index: 0, id: `call_${Date.now()}`, type: "function", function: { name: script.tool, arguments: JSON.stringify(script.arguments ?? {}) } }] }
    : { role: "assistant", content: script?.answer ?? "I do not know." };
  const finish = calls ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
  const base = { id: "chat", model: request.model, created: 1 };
  if (!request.stream) {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage }));
    return;
  }
  response.setHeader("Content-Type", "text/event-stream");
  const send = (delta, reason = null) =>
    response.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`);
  if (calls) send(message);
  else for (const word of message.content.split(/(?<= )/)) send({ role: "assistant", content: word });
  send({}, finish);
  response.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [], usage })}\n\n`);
  response.end("data: [DONE]\n\n");
}
