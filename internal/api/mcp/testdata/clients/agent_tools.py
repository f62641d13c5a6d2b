"""Agents and workflows as tools, called by the Python SDK: agent_tools.mjs does the same."""

import asyncio
import os
import urllib.parse
import urllib.request
from contextlib import asynccontextmanager

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification, ElicitResult, ResourceTemplateReference

from common import URL, names, pages, rpc

QUESTION = "How is the lighthouse lit?"


def define():
    def schema(properties, required):
        return {"type": "object", "properties": properties, "required": required}

    def workflow(name, definition):
        rpc("WorkflowService/CreateWorkflow", {"workflowName": name, "definition": definition})

    rpc("AgentService/CreateAgent", {"agentName": "keeper_py", "definition": {"model": "openai/m", "description": "Knows the harbour."}})
    rpc("AgentService/CreateAgent", {"agentName": "greeter_py", "definition": {"model": "openai/m", "description": "Greets.", "tools": []}})
    workflow("greet_py", {
        "description": "Greets somebody.", "inputSchema": schema({"name": {"type": "string"}}, ["name"]),
        "outputSchema": schema({"text": {"type": "string"}}, ["text"]),
        "steps": [
            {"id": "greet", "kind": "agent", "agent": "greeter_py", "input": {"prompt": {"expression": "'Greet ' + initData.name"}}},
            {"id": "done", "kind": "map", "input": {"text": {"step": "greet", "path": "text"}}},
        ],
    })
    workflow("slow_py", {"description": "Never ends.", "steps": [
        {"id": "wait", "kind": "agent", "agent": "greeter_py", "input": {"prompt": {"value": "Wait for the run of py."}}},
    ]})
    workflow("publish_py", {"description": "Asks before it publishes.", "steps": [
        {"id": "ask", "kind": "wait", "message": "Publish it?", "schema": schema({"approved": {"type": "boolean"}}, ["approved"])},
        {"id": "done", "kind": "map", "input": {"published": {"step": "ask", "path": "approved"}}},
    ]})


async def under_way(text, count):
    """Waits until the model works on so many requests with the text."""
    address = os.environ["RAGD_MODEL_WATCH"] + "?" + urllib.parse.urlencode({"text": text})
    for _ in range(400):
        if int(await asyncio.to_thread(lambda: urllib.request.urlopen(address).read())) == count:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not {count} requests with {text!r} at the model")


@asynccontextmanager
async def connect(key, **callbacks):
    async with streamablehttp_client(URL, headers={"Authorization": "Bearer " + key}) as (read, write, _):
        async with ClientSession(read, write, **callbacks) as session:
            await session.initialize()
            yield session


async def progress_of(session, name, arguments, wanted):
    """Calls a tool and returns its result, when the progress has had the message."""
    steps = []

    async def heard(progress, _total, message):
        steps.append((progress, message))

    answer = await session.call_tool(name, arguments, progress_callback=heard)
    for _ in range(400):
        if any(message == wanted for _, message in steps):
            break
        await asyncio.sleep(0.05)
    assert any(message == wanted for _, message in steps), steps
    assert all(a < b for (a, _), (b, _) in zip(steps, steps[1:])), steps
    return answer


async def use_agent(session):
    answer = await progress_of(session, "ask_keeper_py", {"message": QUESTION}, "Calls vector_query.")
    said = answer.structuredContent
    assert said["text"] == "With whale oil [1]." and "[1]" in answer.content[0].text, answer
    assert said["citations"][0]["uri"] == "lighthouse.md" and said["usage"]["steps"] == 2, said
    wrong = await session.call_tool("ask_keeper_py", {})
    assert wrong.isError and "message" in wrong.content[0].text, wrong
    await session.call_tool("ask_keeper_py", {"message": "My name is Ada.", "threadId": "talk-py"})
    again = await session.call_tool("ask_keeper_py", {"message": "What is my name?", "threadId": "talk-py"})
    assert again.structuredContent["text"] == "Your name is Ada.", again
    alone = await session.call_tool("ask_keeper_py", {"message": "What is my name?"})
    assert alone.structuredContent["text"] == "I do not know.", alone


async def cancel(session, name, arguments, text):
    """Cancels a call when the model works on it. The SDK leaves the notification to its user."""
    request = session._request_id
    call = asyncio.create_task(session.call_tool(name, arguments))
    await under_way(text, 1)
    params = CancelledNotificationParams(requestId=request, reason="enough")
    await session.send_notification(ClientNotification(CancelledNotification(params=params)))
    await under_way(text, 0)
    call.cancel()


async def leave(key):
    """Ends a session during a call."""
    text = "Wait for a session of py."
    try:
        async with connect(key) as session:
            asyncio.create_task(session.call_tool("ask_keeper_py", {"message": text}))
            await under_way(text, 1)
    except BaseExceptionGroup:  # of the SDK, which cannot end a call that it has left
        pass
    await under_way(text, 0)


async def use_workflow(session):
    greeted = await progress_of(session, "run_greet_py", {"name": "Ada"}, "Step greet has succeeded.")
    assert greeted.structuredContent == {"text": "Hello, Ada!"}, greeted
    wrong = await session.call_tool("run_greet_py", {"name": 7})
    assert wrong.isError and "name" in wrong.content[0].text, wrong
    waiting = (await session.call_tool("run_publish_py", {})).structuredContent
    assert waiting["status"] == "waiting" and waiting["message"] == "Publish it?", waiting
    wrong = await session.call_tool("resume_run", {"runId": waiting["runId"], "data": {"approved": "no"}})
    assert wrong.isError and "approved" in wrong.content[0].text, wrong
    resumed = await session.call_tool("resume_run", {"runId": waiting["runId"], "data": {"approved": False}})
    assert resumed.structuredContent == {"published": False}, resumed


async def use_templates(session):
    template = "ragd://indexes/{index}"
    listed = (await session.list_resource_templates()).resourceTemplates
    assert template in [t.uriTemplate for t in listed], listed
    completed = await session.complete(ResourceTemplateReference(type="ref/resource", uri=template), {"name": "index", "value": "doc"})
    assert completed.completion.values == ["docs"], completed
    read = await session.read_resource(template.replace("{index}", "docs"))
    assert '"docs"' in read.contents[0].text, read


async def use_forms(key):
    """Runs a workflow that asks, with a client that shows forms, and receives log messages."""
    asked, answers, logged = [], [], []

    async def answer(_context, params):
        asked.append(params.message)
        return answers[-1]

    async def log(params):
        logged.append(params)

    async with connect(key, elicitation_callback=answer, logging_callback=log) as session:
        answers.append(ElicitResult(action="accept", content={"approved": True}))
        approved = await session.call_tool("run_publish_py", {})
        assert approved.structuredContent == {"published": True} and asked == ["Publish it?"], (approved, asked)
        answers.append(ElicitResult(action="decline"))
        declined = await session.call_tool("run_publish_py", {})
        assert declined.structuredContent["status"] == "waiting", declined
        answers.append(ElicitResult(action="accept", content={"indexName": "docs"}))
        found = await session.call_tool("list_documents", {})
        assert "lighthouse.md" in found.content[0].text and len(asked) == 3, (found, asked)
        await session.set_logging_level("info")
        await session.call_tool("vector_query", {"queryText": QUESTION, "indexName": "docs"})
        for _ in range(400):
            if logged:
                break
            await asyncio.sleep(0.05)
        assert logged[0].data["tool"] == "vector_query", logged


async def main():
    await asyncio.to_thread(define)
    key, stranger = os.environ["RAGD_ACME_KEY"], os.environ["RAGD_GLOBEX_KEY"]
    async with connect(key) as session:
        tools = {tool.name: tool for tool in await pages(session)}
        assert "citations" in tools["ask_keeper_py"].outputSchema["properties"], tools["ask_keeper_py"]
        assert tools["run_greet_py"].inputSchema["required"] == ["name"] and "resume_run" in tools, tools["run_greet_py"]
        await use_agent(session)
        await cancel(session, "ask_keeper_py", {"message": "Wait for the answer of py."}, "Wait for the answer of py.")
        await use_workflow(session)
        await cancel(session, "run_slow_py", {}, "Wait for the run of py.")
        await use_templates(session)
    await leave(key)
    async with connect(stranger) as session:
        listed = await names(session)
        assert not [name for name in listed if name.endswith("_py")], listed
    await use_forms(key)


asyncio.run(main())
