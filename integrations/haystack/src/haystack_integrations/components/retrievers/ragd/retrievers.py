"""Retrievers over a RagdDocumentStore."""

from __future__ import annotations

import asyncio
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document

from haystack_integrations.document_stores.ragd import RagdDocumentStore
from haystack_integrations.document_stores.ragd.filters import filter_of


class _Retriever:
    """What all retrievers have. query holds further settings of RagdIndex.query, such as a reranker."""

    def __init__(
        self,
        *,
        document_store: RagdDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        query: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(document_store, RagdDocumentStore):
            raise ValueError("document_store must be a RagdDocumentStore")
        self.document_store = document_store
        self.filters = filters or {}
        self.top_k = top_k
        self.query = query or {}

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings of the retriever."""
        return default_to_dict(self, document_store=self.document_store.to_dict(), filters=self.filters, top_k=self.top_k, query=self.query)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Returns the retriever with these settings."""
        settings = data["init_parameters"]
        settings["document_store"] = RagdDocumentStore.from_dict(settings["document_store"])
        return default_from_dict(cls, data)

    def _search(self, text: str, embedding: list[float] | None, mode: str, filters: dict[str, Any] | None, top_k: int | None) -> list[Document]:
        both = [part for part in (self.filters, filters) if part]
        joined = {"operator": "AND", "conditions": both} if len(both) > 1 else (both[0] if both else None)
        return self.document_store.search(text, embedding, mode, joined, {"top_k": self.top_k if top_k is None else top_k, **self.query})


@component
class RagdEmbeddingRetriever(_Retriever):
    """Finds the documents nearest to an embedding. Filters of a run are and-ed with those of the retriever."""

    @component.output_types(documents=list[Document])
    def run(self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """Returns documents, best first."""
        return {"documents": self._search("", query_embedding, "vector", filters, top_k)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """As run, in a thread."""
        return await asyncio.to_thread(self.run, query_embedding, filters, top_k)


@component
class RagdKeywordRetriever(_Retriever):
    """Finds documents by the words of a question (BM25)."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """Returns documents, best first."""
        return {"documents": self._search(query, None, "keyword", filters, top_k)}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """As run, in a thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k)


@component
class RagdHybridRetriever(_Retriever):
    """Finds documents by an embedding and by the words of a question."""

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Returns documents, best first."""
        return {"documents": self._search(query, query_embedding, "hybrid", filters, top_k)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """As run, in a thread."""
        return await asyncio.to_thread(self.run, query, query_embedding, filters, top_k)


@component
class RagdRetriever(_Retriever):
    """Searches documents that ragd splits and embeds: by vectors and keywords, with reranking, or with graph=True by a walk.

    The index of the document store must have an embedding model: make it with
    index_settings={"embeddingModel": "..."}.
    """

    def __init__(
        self,
        *,
        document_store: RagdDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        query: dict[str, Any] | None = None,
        graph: bool = False,
    ) -> None:
        # component replaces the class, so that super() does not know it.
        _Retriever.__init__(self, document_store=document_store, filters=filters, top_k=top_k, query=query)
        self.graph = graph

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings of the retriever."""
        data = _Retriever.to_dict(self)
        data["init_parameters"]["graph"] = self.graph
        return data

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """Returns passages, best first. Their meta has that of the upload, and uri, title, document_id and ordinal."""
        index = self.document_store.client.index(self.document_store.index)
        both = [part for part in (filter_of(self.filters), filter_of(filters)) if part]
        settings: dict[str, Any] = {
            "top_k": self.top_k if top_k is None else top_k,
            "filter": {"$and": both} if both else None,
            "namespace": self.document_store.namespace or None,
            **self.query,
        }
        found = (index.graph if self.graph else index.query)(query, **settings)
        documents = []
        for source in found["sources"]:
            origin = {
                "uri": source.get("uri", ""),
                "title": source.get("title", ""),
                "document_id": source.get("documentId", ""),
                "ordinal": source.get("ordinal", 0),
            }
            documents.append(
                Document(
                    id=source["id"], content=source.get("document", ""), meta={**source.get("metadata", {}), **origin}, score=source.get("score", 0.0)
                )
            )
        return {"documents": documents}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """As run, in a thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k)
