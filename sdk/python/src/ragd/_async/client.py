"""The client: indexes, uploads, questions and answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Protocol, TypeVar

import httpx

from .._protocol import Retry, Settings
from ..api import (
    AskAgentRequest,
    AsyncAgentService,
    AsyncIndexService,
    AsyncQueryService,
    AsyncToolService,
    BatchAnswer,
    CallToolResponse,
    GraphRagRequest,
    GraphRagResponse,
    Index,
    Tool,
    VectorQueryRequest,
    VectorQueryResponse,
)
from .answer import AsyncAnswer
from .index import AsyncRagdIndex
from .transport import AsyncTransport

_Service = TypeVar("_Service", covariant=True)


class AsyncServiceClass(Protocol[_Service]):
    """A generated client, such as AsyncTenantService of ragd.api."""

    def __call__(self, transport: AsyncTransport) -> _Service: ...


class AsyncRagd:
    """A client of the service.

    url is the service's address, such as http://127.0.0.1:8484. api_key is sent with every call. With the
    operator's key, tenant names the tenant. context is a request context that every call has, such as
    {"filter": {"team": "legal"}}. timeout bounds each call, in seconds; streams only where a call gives
    one. http replaces the connections. Errors: RagdError with the code invalid_argument.

    A client keeps connections open: close it, or use it in a with statement.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        tenant: str | None = None,
        context: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = 120,
        retry: Retry | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._own = http is None
        self._http = http or httpx.AsyncClient(limits=httpx.Limits(max_connections=None, max_keepalive_connections=20))
        self.transport = AsyncTransport(Settings.of(url, api_key, tenant, context, headers, timeout, retry), self._http)

    async def __aenter__(self) -> AsyncRagd:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, unless they were given."""
        if self._own:
            await self._http.aclose()

    def rpc(self, service: AsyncServiceClass[_Service]) -> _Service:
        """Returns the generated client of a service, such as AsyncTenantService of ragd.api."""
        return service(self.transport)

    def index(self, name: str) -> AsyncRagdIndex:
        """Returns the index of a name. Makes no call."""
        return AsyncRagdIndex(name, self.transport)

    async def indexes(self) -> AsyncIterator[Index]:
        """Yields the indexes of the tenant in the order of their names."""
        token = ""
        while True:
            page = await self.rpc(AsyncIndexService).list_indexes({"pageSize": 1000, "pageToken": token})
            for index in page["indexes"]:
                yield index
            token = page["nextPageToken"]
            if not token:
                return

    def ask(
        self,
        agent_name: str,
        message: str,
        *,
        thread_id: str = "",
        timeout: float | None = None,
        context: dict[str, Any] | None = None,
    ) -> AsyncAnswer:
        """Asks an agent a question. It is sent when the answer is first read, as by final()."""
        ask: AskAgentRequest = {"agentName": agent_name, "message": message, "threadId": thread_id}
        return AsyncAnswer(lambda: self.rpc(AsyncAgentService).ask_agent_stream({"ask": ask}, timeout=timeout, context=context))

    async def query(
        self, text: str = "", settings: VectorQueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> VectorQueryResponse:
        """Returns the chunks of several indexes that match a question best, in one order: of those that indexNames of the
        settings names or selects by patterns, else of all.
        """
        request: VectorQueryRequest = {**(settings or {}), "queryText": text}
        return await self.rpc(AsyncQueryService).vector_query(request, timeout=timeout, context=context)

    async def graph(
        self, text: str = "", settings: GraphRagRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> GraphRagResponse:
        """Walks the graphs of several indexes from a question, and returns what it reaches in one order: of the same indexes as query."""
        request: GraphRagRequest = {**(settings or {}), "queryText": text}
        return await self.rpc(AsyncQueryService).graph_rag(request, timeout=timeout, context=context)

    async def batch(
        self, queries: list[VectorQueryRequest], *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> list[BatchAnswer]:
        """Answers up to 100 queries in one call, each with an answer or an error of its own, in their order."""
        answer = await self.rpc(AsyncQueryService).batch_query({"queries": queries}, timeout=timeout, context=context)
        return answer["answers"]

    async def embed(self, texts: list[str], *, model: str = "", timeout: float | None = None) -> list[list[float]]:
        """Returns the embeddings of texts, in the order of the texts."""
        answer = await self.rpc(AsyncQueryService).embed({"texts": texts, "model": model}, timeout=timeout)
        return [embedding["values"] for embedding in answer["embeddings"]]

    async def tools(self) -> AsyncIterator[Tool]:
        """Yields the tools that the caller may call, with the JSON Schemas of their arguments."""
        token = ""
        while True:
            page = await self.rpc(AsyncToolService).list_tools({"includeBuiltin": True, "pageSize": 1000, "pageToken": token})
            for tool in page["tools"]:
                yield tool
            token = page["nextPageToken"]
            if not token:
                return

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> CallToolResponse:
        """Calls a tool as an MCP client does."""
        return await self.rpc(AsyncToolService).call_tool({"toolName": tool_name, "arguments": arguments or {}}, timeout=timeout, context=context)
