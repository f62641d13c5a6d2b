"""The vector store, for nodes that LlamaIndex splits and embeds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from ragd import Ragd, RagdError
from ragd.api import DeleteRequest, Entry, VectorService

from .filters import filter_of

#: The metadata that keeps the id of a node, by which get_nodes selects.
_ID = "_node_id"

#: Most entries of one request, and the bytes at which one is sent before it has as many.
_ENTRIES = 10_000
_BYTES = 16 << 20

#: Most nodes that get_nodes returns.
_NODES = 1000


class RagdVectorStore(BasePydanticVectorStore):
    """Stores nodes with embeddings of LlamaIndex in an index of ragd.

    The index is made when the first nodes are added, with the settings of CreateIndexRequest, unless it exists.
    Queries may have the modes default, hybrid, sparse and text_search (keywords alone), semantic_hybrid (as
    hybrid) and mmr. Errors are ragd.RagdError, and ValueError for a filter or mode that does not exist here.
    """

    stores_text: bool = True
    flat_metadata: bool = False
    index_name: str
    namespace: str = ""

    _client: Ragd = PrivateAttr()
    _settings: dict[str, Any] = PrivateAttr()
    _vectors: VectorService = PrivateAttr()
    _created: bool = PrivateAttr(default=False)

    def __init__(self, *, client: Ragd, index_name: str, namespace: str = "", **settings: Any) -> None:
        super().__init__(index_name=index_name, namespace=namespace)  # type: ignore[call-arg]
        self._client = client
        self._settings = settings
        self._vectors = client.rpc(VectorService)

    @classmethod
    def class_name(cls) -> str:
        """Returns the name of the class."""
        return "RagdVectorStore"

    @property
    def client(self) -> Ragd:
        """The client."""
        return self._client

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Stores nodes and returns their ids. One with the id of an earlier one replaces it."""
        entries: list[Entry] = [
            {
                "id": node.node_id,
                "values": list(map(float, node.get_embedding())),
                "document": node.get_content(MetadataMode.NONE),
                "metadata": {**node_to_metadata_dict(node, remove_text=True), _ID: node.node_id},
            }
            for node in nodes
        ]
        if not entries:
            return []
        self._create(len(entries[0]["values"]))
        for batch in _batches(entries):
            self._vectors.upsert({"indexName": self.index_name, "namespace": self.namespace, "entries": batch})
        return [entry["id"] for entry in entries]

    def _create(self, dimension: int) -> None:
        if self._created:
            return
        index = self._client.index(self.index_name)
        try:
            index.describe()
        except RagdError as error:
            if error.code != "not_found":
                raise
            index.create(**{"dimension": dimension, **self._settings})
        self._created = True

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Deletes the nodes of a document. An unknown document is no error."""
        self._delete({"ref_doc_id": {"$eq": ref_doc_id}})

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any) -> None:
        """Deletes the nodes with the ids that the filters select, or all that they select. Errors: ValueError without either."""
        selected = filter_of(filters)
        if node_ids is None and selected is None:
            raise ValueError("give node_ids or filters; clear deletes all nodes")
        if node_ids is None:
            self._delete(cast(dict[str, Any], selected))
            return
        for start in range(0, len(node_ids), _ENTRIES):
            part = node_ids[start : start + _ENTRIES]
            if selected is None:
                self._ignore_missing_index({"ids": part})
            else:
                self._delete({"$and": [{_ID: {"$in": part}}, selected]})

    def clear(self) -> None:
        """Deletes all nodes; documents that were uploaded to the index stay."""
        self._delete({_ID: {"$exists": True}})

    def _delete(self, selected: dict[str, Any]) -> None:
        self._ignore_missing_index({"filter": selected})

    def _ignore_missing_index(self, which: dict[str, Any]) -> None:
        try:
            self._vectors.delete(cast(DeleteRequest, {"indexName": self.index_name, "namespace": self.namespace, **which}))
        except RagdError as error:
            if error.code != "not_found":
                raise

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Returns the nodes with the ids, in their order, that the filters select; without ids at most 1,000 of them."""
        selected = filter_of(filters)
        if node_ids is None:
            return list(self._select(selected or {_ID: {"$exists": True}}, _NODES).values())
        found: dict[str, BaseNode] = {}
        for start in range(0, len(node_ids), _NODES):
            part = node_ids[start : start + _NODES]
            wanted: dict[str, Any] = {_ID: {"$in": part}}
            found |= self._select({"$and": [wanted, selected]} if selected else wanted, len(part))
        return [found[node_id] for node_id in node_ids if node_id in found]

    def _select(self, selected: dict[str, Any], most: int) -> dict[str, BaseNode]:
        answer = self._vectors.query({"indexName": self.index_name, "namespace": self.namespace, "topK": most, "filter": selected})
        return {result["id"]: node_of(result["id"], result.get("document", ""), result.get("metadata", {})) for result in answer["results"]}

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Returns the nodes that match a query best. kwargs are settings of RagdIndex.query, such as a reranker."""
        filters = [part for part in (filter_of(query.filters), kwargs.pop("filter", None)) if part]
        if query.doc_ids:
            filters.append({"ref_doc_id": {"$in": list(query.doc_ids)}})
        if query.node_ids:
            filters.append({_ID: {"$in": list(query.node_ids)}})
        found = self._client.index(self.index_name).query(
            query.query_str or "",
            **{
                **_mode(query),
                "filter": {"$and": filters} if filters else None,
                "namespace": self.namespace or None,
                **kwargs,
            },
        )
        sources = found["sources"]
        return VectorStoreQueryResult(
            nodes=[node_of(source["id"], source.get("document", ""), source.get("metadata", {})) for source in sources],
            similarities=[source.get("score", 0.0) for source in sources],
            ids=[source["id"] for source in sources],
        )

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """As add, in a thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """As delete, in a thread."""
        await asyncio.to_thread(self.delete, ref_doc_id)

    async def adelete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any) -> None:
        """As delete_nodes, in a thread."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters)

    async def aclear(self) -> None:
        """As clear, in a thread."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """As get_nodes, in a thread."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """As query, in a thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)


def _mode(query: VectorStoreQuery) -> dict[str, Any]:
    """Returns the settings of RagdIndex.query for a mode."""
    mode = query.mode
    settings: dict[str, Any] = {"top_k": query.similarity_top_k}
    if mode in (VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH):
        return {"mode": "keyword", "top_k": query.sparse_top_k or query.similarity_top_k}
    settings["vector"] = query.query_embedding
    if mode == VectorStoreQueryMode.DEFAULT:
        settings["mode"] = "vector"
    elif mode == VectorStoreQueryMode.MMR:
        settings |= {"mode": "vector", "diversity": 1 - (0.5 if query.mmr_threshold is None else query.mmr_threshold)}
    elif mode in (VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.SEMANTIC_HYBRID):
        settings |= {"mode": "hybrid", "top_k": query.hybrid_top_k or query.similarity_top_k}
        if query.alpha is not None:
            settings["hybrid"] = {"vectorWeight": query.alpha, "keywordWeight": 1 - query.alpha}
    else:
        raise ValueError(f"the mode {mode.value} is not supported: use default, hybrid, semantic_hybrid, sparse, text_search or mmr")
    return settings


def node_of(node_id: str, text: str, metadata: dict[str, Any]) -> BaseNode:
    """Returns a stored node; for the chunk of an uploaded document a new one."""
    if "_node_content" in metadata:
        return metadata_dict_to_node(metadata, text=text)
    return TextNode(id_=node_id, text=text, metadata={key: value for key, value in metadata.items() if key != "text"})


def _batches(entries: list[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        cost = 20 * len(entry["values"]) + len(entry["document"].encode()) + len(json.dumps(entry["metadata"]))
        if batch and (len(batch) == _ENTRIES or size + cost > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += cost
    if batch:
        yield batch
