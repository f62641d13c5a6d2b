"""Sends the tools of the endpoint to models through the libraries of PyPI.

The models are an HTTP server that keeps what it gets and answers with an error.
"""

import asyncio
import os
import traceback
from urllib.parse import quote

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel
from google import genai
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from openai import AsyncOpenAI

URL = os.environ["RAGD_MCP_URL"]
HEADERS = {"Authorization": "Bearer " + os.environ["RAGD_KEY"]}
PROMPT = "What is there?"


async def ask(name, run):
    """Runs what is expected to end with the models' error."""
    try:
        await run(os.environ["RAGD_MODELS_URL"] + "/" + quote(name))
    except Exception as error:  # whatever a library raises
        if "kept" not in str(error):
            print(name + ":", traceback.format_exc())


async def main():
    set_tracing_disabled(True)
    langchain = MultiServerMCPClient({"r": {"transport": "streamable_http", "url": URL, "headers": HEADERS}})
    tools = await langchain.get_tools()
    for strict in (None, True):
        await ask(
            "LangChain, OpenAI" + (" strict" if strict else ""),
            lambda base: ChatOpenAI(model="gpt-4.1", api_key="none", base_url=base, max_retries=0)
            .bind_tools(tools, strict=strict).ainvoke(PROMPT),
        )
    await ask(
        "LangChain, Gemini",
        lambda base: ChatGoogleGenerativeAI(model="gemini-2.5-flash", api_key="none", base_url=base, max_retries=1)
        .bind_tools(tools).ainvoke(PROMPT),
    )

    async with streamablehttp_client(URL, headers=HEADERS) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()


            async def generate(base):
                retry = genai.types.HttpRetryOptions(attempts=1)
                client = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=base, retry_options=retry))
                await client.aio.models.generate_content(model="gemini-2.5-flash", contents=PROMPT, config={"tools": [session]})

            await ask("Google Gen AI for Python", generate)

    for strict in (False, True):
        async with MCPServerStreamableHttp(params={"url": URL, "headers": HEADERS}) as server:
            for kind, model in (("responses", OpenAIResponsesModel), ("chat", OpenAIChatCompletionsModel)):
                await ask(
                    f"OpenAI Agents, {kind}" + (" strict" if strict else ""),
                    lambda base: Runner.run(
                        Agent(
                            name="a", mcp_servers=[server], mcp_config={"convert_schemas_to_strict": strict},
                            model=model("gpt-4.1", AsyncOpenAI(api_key="none", base_url=base, max_retries=0)),
                        ),
                        PROMPT,
                    ),
                )


asyncio.run(main())
