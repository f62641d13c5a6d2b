"""The vector store, for documents that LangChain splits and embeds."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from ragd import Ragd
from ragd.api import Entry, QueryResult, VectorService

#: The metadata that keeps the id of a document, by which get_by_ids selects.
_ID = "langchain_id"

#: Most entries of one request, and the bytes at which one is sent before it has as many.
_ENTRIES = 10_000
_BYTES = 16 << 20


class RagdVectorStore(VectorStore):
    """Stores vectors of LangChain in an index of ragd.

    The index must exist, unless from_texts or from_documents made it. Filters are those of the service.
    """

    def __init__(self, embedding: Embeddings, *, client: Ragd, index_name: str, namespace: str = "") -> None:
        self._embedding = embedding
        self._client = client
        self._index_name = index_name
        self._namespace = namespace
        self._vectors = client.rpc(VectorService)

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        client: Ragd | None = None,
        index_name: str = "",
        namespace: str = "",
        **settings: Any,
    ) -> RagdVectorStore:
        """Creates the index, with the settings of CreateIndexRequest, if it does not exist, and adds texts."""
        if client is None or not index_name:
            raise ValueError("client and index_name are required")
        vectors = embedding.embed_documents(texts)
        dimension = len(vectors[0]) if vectors else len(embedding.embed_query("a"))
        client.index(index_name).create(**{"dimension": dimension, **settings})
        store = cls(embedding, client=client, index_name=index_name, namespace=namespace)
        store._add(texts, vectors, metadatas, ids)
        return store

    def add_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, *, ids: list[str] | None = None, **kwargs: Any
    ) -> list[str]:
        """Embeds and stores texts, and returns their ids. One with the id of an earlier one replaces it."""
        given = list(texts)
        return self._add(given, self._embedding.embed_documents(given), metadatas, ids)

    def _add(
        self, texts: Sequence[str], vectors: Sequence[list[float]], metadatas: Sequence[dict[str, Any]] | None, ids: Sequence[str | None] | None
    ) -> list[str]:
        if metadatas is not None and len(metadatas) != len(texts):
            raise ValueError(f"{len(metadatas)} metadatas for {len(texts)} texts")
        if ids is not None and len(ids) != len(texts):
            raise ValueError(f"{len(ids)} ids for {len(texts)} texts")
        named = [given or str(uuid.uuid4()) for given in (ids or [None] * len(texts))]
        entries: list[Entry] = [
            {"id": name, "values": list(map(float, vector)), "metadata": {**(metadata or {}), _ID: name}, "document": text}
            for name, vector, metadata, text in zip(named, vectors, metadatas or [{}] * len(texts), texts, strict=True)
        ]
        for batch in _batches(entries):
            self._vectors.upsert({"indexName": self._index_name, "namespace": self._namespace, "entries": batch})
        return named

    def delete(self, ids: list[str] | None = None, *, filter: dict[str, Any] | None = None, **kwargs: Any) -> bool | None:
        """Deletes documents by their ids or a filter. Ids that do not exist are ignored."""
        if ids is not None:
            for start in range(0, len(ids), _ENTRIES):
                self._vectors.delete({"indexName": self._index_name, "namespace": self._namespace, "ids": ids[start : start + _ENTRIES]})
            return True
        if not filter:
            raise ValueError("give ids or a filter; to delete all, call client.index(index_name).truncate()")
        self._vectors.delete({"indexName": self._index_name, "namespace": self._namespace, "filter": filter})
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Returns the documents with the ids, in their order; those that do not exist are left out."""
        found: dict[str, Document] = {}
        for start in range(0, len(ids), 1000):
            part = list(ids[start : start + 1000])
            for result in self._query(None, len(part), {_ID: {"$in": part}}):
                found[result["id"]] = _document(result)
        return [found[name] for name in ids if name in found]

    def similarity_search(self, query: str, k: int = 4, *, filter: dict[str, Any] | None = None, **kwargs: Any) -> list[Document]:
        """Returns the k documents nearest to a question."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter=filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Returns the k documents nearest to a question and their scores, 1 for the same direction."""
        return self.similarity_search_with_score_by_vector(self._embedding.embed_query(query), k, filter=filter)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Document]:
        """Returns the k documents nearest to a vector."""
        return [document for document, _ in self.similarity_search_with_score_by_vector(embedding, k, filter=filter)]

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: dict[str, Any] | None = None
    ) -> list[tuple[Document, float]]:
        """Returns the k documents nearest to a vector and their scores."""
        return [(_document(result), result["score"]) for result in self._query(embedding, k, filter)]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, *, filter: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Document]:
        """Returns k of the fetch_k nearest documents that differ from each other."""
        return self.max_marginal_relevance_search_by_vector(self._embedding.embed_query(query), k, fetch_k, lambda_mult, filter=filter)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Returns k of the fetch_k documents nearest to a vector that differ from each other."""
        import numpy as np

        results = self._query(embedding, fetch_k, filter, include_vector=True)
        chosen = maximal_marginal_relevance(np.array(embedding), [result["vector"] for result in results], lambda_mult, k)
        return [_document(results[at]) for at in chosen]

    def _query(self, vector: list[float] | None, k: int, filter: dict[str, Any] | None, *, include_vector: bool = False) -> list[QueryResult]:
        answer = self._vectors.query(
            {
                "indexName": self._index_name,
                "namespace": self._namespace,
                "topK": k,
                "includeVector": include_vector,
                **({"queryVector": list(map(float, vector))} if vector is not None else {}),
                **({"filter": filter} if filter else {}),
            }
        )
        return answer["results"]

    def _select_relevance_score_fn(self) -> Any:
        return lambda score: score


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


def _document(result: QueryResult) -> Document:
    metadata = {key: value for key, value in result.get("metadata", {}).items() if key != _ID}
    return Document(id=result["id"], page_content=result.get("document", ""), metadata=metadata)
