"""The client: indexes, uploads, questions and answers."""

# Generated from ../_async/client.py by generate.py. Do not edit.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Protocol, TypeVar

import httpx

from .._protocol import Retry, Settings
from ..api import (
    AskAgentRequest,
    AgentService,
    IndexService,
    QueryService,
    ToolService,
    BatchAnswer,
    CallToolResponse,
    GraphRagRequest,
    GraphRagResponse,
    Index,
    Tool,
    VectorQueryRequest,
    VectorQueryResponse,
)
from .answer import Answer
from .index import RagdIndex
from .transport import Transport

_Service = TypeVar("_Service", covariant=True)


class ServiceClass(Protocol[_Service]):
    """A generated client, such as TenantService of ragd.api."""

    def __call__(self, transport: Transport) -> _Service: ...


class Ragd:
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
        http: httpx.Client | None = None,
    ) -> None:
        self._own = http is None
        self._http = http or httpx.Client(limits=httpx.Limits(max_connections=None, max_keepalive_connections=20))
        self.transport = Transport(Settings.of(url, api_key, tenant, context, headers, timeout, retry), self._http)

    def __enter__(self) -> Ragd:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, unless they were given."""
        if self._own:
            self._http.close()

    def rpc(self, service: ServiceClass[_Service]) -> _Service:
        """Returns the generated client of a service, such as TenantService of ragd.api."""
        return service(self.transport)

    def index(self, name: str) -> RagdIndex:
        """Returns the index of a name. Makes no call."""
        return RagdIndex(name, self.transport)

    def indexes(self) -> Iterator[Index]:
        """Yields the indexes of the tenant in the order of their names."""
        token = ""
        while True:
            page = self.rpc(IndexService).list_indexes({"pageSize": 1000, "pageToken": token})
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
    ) -> Answer:
        """Asks an agent a question. It is sent when the answer is first read, as by final()."""
        ask: AskAgentRequest = {"agentName": agent_name, "message": message, "threadId": thread_id}
        return Answer(lambda: self.rpc(AgentService).ask_agent_stream({"ask": ask}, timeout=timeout, context=context))

    def query(
        self, text: str = "", settings: VectorQueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> VectorQueryResponse:
        """Returns the chunks of several indexes that match a question best, in one order: of those that indexNames of the
        settings names or selects by patterns, else of all.
        """
        request: VectorQueryRequest = {**(settings or {}), "queryText": text}
        return self.rpc(QueryService).vector_query(request, timeout=timeout, context=context)

    def graph(
        self, text: str = "", settings: GraphRagRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> GraphRagResponse:
        """Walks the graphs of several indexes from a question, and returns what it reaches in one order: of the same indexes as query."""
        request: GraphRagRequest = {**(settings or {}), "queryText": text}
        return self.rpc(QueryService).graph_rag(request, timeout=timeout, context=context)

    def batch(
        self, queries: list[VectorQueryRequest], *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> list[BatchAnswer]:
        """Answers up to 100 queries in one call, each with an answer or an error of its own, in their order."""
        answer = self.rpc(QueryService).batch_query({"queries": queries}, timeout=timeout, context=context)
        return answer["answers"]

    def embed(self, texts: list[str], *, model: str = "", timeout: float | None = None) -> list[list[float]]:
        """Returns the embeddings of texts, in the order of the texts."""
        answer = self.rpc(QueryService).embed({"texts": texts, "model": model}, timeout=timeout)
        return [embedding["values"] for embedding in answer["embeddings"]]

    def tools(self) -> Iterator[Tool]:
        """Yields the tools that the caller may call, with the JSON Schemas of their arguments."""
        token = ""
        while True:
            page = self.rpc(ToolService).list_tools({"includeBuiltin": True, "pageSize": 1000, "pageToken": token})
            for tool in page["tools"]:
                yield tool
            token = page["nextPageToken"]
            if not token:
                return

    def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None
    ) -> CallToolResponse:
        """Calls a tool as an MCP client does."""
        return self.rpc(ToolService).call_tool({"toolName": tool_name, "arguments": arguments or {}}, timeout=timeout, context=context)
