"""The retriever, for documents that ragd splits, embeds and searches."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from ragd import Ragd
from ragd.api import Source

from .store import node_of


class RagdRetriever(BaseRetriever):
    """Searches an index of ragd: by vectors and keywords, with reranking, or by a walk through its graph.

    query holds settings of RagdIndex.query, or with graph=True of RagdIndex.graph, such as
    {"mode": "hybrid", "filter": {"team": "legal"}}. Found nodes have the metadata of the upload, and uri,
    title, document_id, ordinal, start_byte and end_byte.
    """

    def __init__(self, client: Ragd, index_name: str, *, top_k: int = 10, graph: bool = False, query: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._client = client
        self._index_name = index_name
        self._graph = graph
        self._query = {"top_k": top_k, **(query or {})}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        index = self._client.index(self._index_name)
        found = (index.graph if self._graph else index.query)(query_bundle.query_str, **self._query)
        return [NodeWithScore(node=_node(source), score=source.get("score", 0.0)) for source in found["sources"]]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(source: Source) -> Any:
    node = node_of(source["id"], source.get("document", ""), source.get("metadata", {}))
    node.metadata = {
        **node.metadata,
        "uri": source.get("uri", ""),
        "title": source.get("title", ""),
        "document_id": source.get("documentId", ""),
        "ordinal": source.get("ordinal", 0),
        "start_byte": source.get("startByte", 0),
        "end_byte": source.get("endByte", 0),
    }
    return node
