"""The Python SDK: sessions on the tenant's own server."""

import asyncio
import base64
import os
from contextlib import asynccontextmanager

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import PaginatedRequestParams

URL = os.environ["RAGD_MCP_URL"] + "/handbook"


@asynccontextmanager
async def connect(tenant):
    key = os.environ[f"RAGD_{tenant.upper()}_KEY"]
    async with streamablehttp_client(URL, headers={"Authorization": "Bearer " + key}) as (read, write, _):
        async with ClientSession(read, write) as session:
            yield session, await session.initialize()


async def use(session, about, tenant):
    assert (about.serverInfo.name, about.serverInfo.version) == ("handbook", "2.1.0"), about
    assert about.instructions == f"Answer from the handbook of {tenant}.", about
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert sorted(tools) == ["ask_handbook", "walk_handbook", "weather"], tools
    assert tools["walk_handbook"].meta["example.com/team"] == tenant, tools["walk_handbook"]
    hints = tools["weather"].annotations
    assert hints.readOnlyHint and hints.openWorldHint and hints.idempotentHint and not hints.destructiveHint, hints

    weather = await session.call_tool("weather", {"city": "Oslo"})
    assert weather.structuredContent["report"] == f"fog in Oslo, {tenant}", weather
    wrong = await session.call_tool("weather", {"town": "Oslo"})
    assert wrong.isError, wrong
    question = {"queryText": "When does the gate close?", "topK": 5}
    answer = await session.call_tool("ask_handbook", question)
    assert len(answer.structuredContent["sources"]) == 1, answer
    context = {"ragd/context": {"topK": 5, "filter": {"audience": "staff"}}}
    filtered = await session.call_tool("ask_handbook", question, meta=context)
    assert len(filtered.structuredContent["sources"]) == 1, filtered
    assert f"gate of {tenant}" in filtered.content[0].text, filtered
    walked = await session.call_tool("walk_handbook", {"queryText": question["queryText"]})
    assert walked.structuredContent["sources"], walked

    page = await session.list_resources()
    listed = page.resources
    while page.nextCursor:
        page = await session.list_resources(params=PaginatedRequestParams(cursor=page.nextCursor))
        listed += page.resources
    gate = next(r for r in listed if "/documents/" in str(r.uri) and "gate.md" in r.model_dump_json())
    text = await session.read_resource(f"{gate.uri}/text")
    assert f"gate of {tenant}" in text.contents[0].text, text
    original = await session.read_resource(f"{gate.uri}/original")
    assert f"gate of {tenant}".encode() in base64.b64decode(original.contents[0].blob), original
    prompt = await session.get_prompt("answer_with_sources", {"question": "When?", "indexName": "handbook"})
    assert "When?" in prompt.model_dump_json(), prompt


async def main():
    for tenant in ["acme", "globex"]:
        async with connect(tenant) as (session, about):
            await use(session, about, tenant)


asyncio.run(main())
