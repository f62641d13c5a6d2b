"""What a tenant defines over RPC, called by the Python SDK: surface.mjs does the same."""

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import GetPromptRequest, GetPromptRequestParams, GetPromptResult
from standardwebhooks import Webhook

from common import ORIGIN, URL, names, rpc

ORDERS, EVENTS = [], []


class Service(BaseHTTPRequestHandler):
    """Answers the tools and the hook, and keeps what it got."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        (EVENTS if self.path == "/hook" else ORDERS).append((dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"order": self.path.split("/")[-1], "country": self.headers["X-Country"]}).encode())

    def log_message(self, *_):
        pass


def define(at):
    rpc("SecretService/SetSecret", {"secretName": "crm_py", "value": "s3cret-py"})
    rpc("SecretService/SetSecret", {"secretName": "globex_py", "value": os.environ["RAGD_GLOBEX_KEY"]})
    rpc("ContextService/DeclareContextKey", {"key": {"name": "country_py", "schema": {"type": "string", "maxLength": 2}, "default": "de"}})
    rpc("ToolService/CreateTool", {
        "toolName": "order_py", "kind": "http", "description": "Looks up an order.",
        "settings": {
            "method": "POST", "url": at + "/orders/{{arguments.order}}", "token": {"context": ["country_py"]},
            "headers": {"X-Key": "{{secrets.crm_py}}", "X-Country": "{{context.country_py}}"},
            "inputSchema": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
        },
    })
    rpc("ToolService/CreateTool", {
        "toolName": "split_py", "kind": "document_chunker", "description": "Splits a text.",
        "settings": {"chunking": {"strategy": "markdown", "headers": [["#", "title"]]}},
    })
    rpc("ToolService/CreateTool", {
        "toolName": "weather_py", "kind": "mcp", "description": "The weather of another server.",
        "settings": {"url": URL + "/handbook", "toolName": "weather", "headers": {"Authorization": "Bearer {{secrets.globex_py}}"}},
    })
    rpc("PromptService/CreatePrompt", {
        "promptName": "reply_py", "arguments": [{"name": "question", "required": True}, {"name": "tone"}], "versionName": "first",
        "messages": [{"text": 'Reply to {{arguments.question}} {{arguments.tone ?? "kindly"}}.'}],
    })
    rpc("PromptService/UpdatePrompt", {"promptName": "reply_py", "messages": {"messages": [{"text": "Say: {{arguments.question}}"}]}})
    key = rpc("TenantService/CreateApiKey", {"tools": {"names": ["split_py"]}, "scopes": ["read"]})["secret"]
    hook = rpc("HookService/CreateHook", {"hookName": "hook_py", "url": at + "/hook", "events": ["tool.output"], "tools": ["order_py"]})
    return key, hook["secret"]


async def prompt(session, version=None):
    params = GetPromptRequestParams(name="reply_py", arguments={"question": "why"})
    if version:
        params = GetPromptRequestParams(name="reply_py", arguments={"question": "why"}, _meta={"ragd/version": version})
    answer = await session.send_request(GetPromptRequest(method="prompts/get", params=params), GetPromptResult)
    return answer.messages[0].content.text


async def use(session, hook, at):
    listed = await names(session)
    assert {"order_py", "split_py", "weather_py"} <= set(listed), listed
    answer = await session.call_tool("order_py", {"order": "4711"})
    assert answer.structuredContent == {"order": "4711", "country": "de"}, answer
    headers, _ = ORDERS[0]
    assert headers["X-Key"] == "s3cret-py", headers
    token = headers["Ragd-Token"]
    signed_by = await asyncio.to_thread(jwt.PyJWKClient(ORIGIN + "/.well-known/jwks.json").get_signing_key_from_jwt, token)
    claims = jwt.decode(token, signed_by.key, algorithms=["EdDSA"], audience=at)
    assert (claims["tenant"], claims["tool"], claims["context"]) == ("acme", "order_py", {"country_py": "de"}), claims
    french = await session.call_tool("order_py", {"order": "4712"}, meta={"ragd/context": {"country_py": "fr"}})
    assert french.structuredContent["country"] == "fr", french
    for wrong in [{"country_py": "france"}, {"claims": {"sub": "root"}}]:
        try:
            refused = (await session.call_tool("order_py", {"order": "4713"}, meta={"ragd/context": wrong})).isError
        except McpError:
            refused = True
        assert refused, wrong
    split = await session.call_tool("split_py", {"text": "# One\n\nFirst.\n\n# Two\n\nSecond."})
    assert "Second." in split.content[0].text, split
    weather = await session.call_tool("weather_py", {"city": "Oslo"})
    assert weather.structuredContent["report"] == "fog in Oslo, globex", weather

    for _ in range(400):
        if EVENTS:
            break
        await asyncio.sleep(0.05)
    headers, body = EVENTS[0]
    event = Webhook(hook).verify(body, {name.lower(): value for name, value in headers.items()})
    assert event["type"] == "tool.output" and event["data"]["toolName"] == "order_py", event

    assert await prompt(session) == "Say: why"
    assert await prompt(session, "first") == "Reply to why kindly."
    try:
        raise AssertionError(await prompt(session, "tenth"))
    except McpError:
        pass


async def use_bound(session):
    listed = await names(session)
    assert listed == ["split_py"], listed
    try:
        refused = (await session.call_tool("order_py", {"order": "1"})).isError
    except McpError:
        refused = True
    assert refused


async def main():
    service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{service.server_port}"
    key, hook = await asyncio.to_thread(define, at)
    for secret, session_of in [(os.environ["RAGD_ACME_KEY"], lambda s: use(s, hook, at)), (key, use_bound)]:
        async with streamablehttp_client(URL, headers={"Authorization": "Bearer " + secret}) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                await session_of(session)
    service.shutdown()


asyncio.run(main())
