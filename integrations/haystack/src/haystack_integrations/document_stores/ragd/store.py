"""The document store, for documents that Haystack splits and embeds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret

from ragd import Ragd, RagdError
from ragd.api import DeleteRequest, Entry, QueryRequest, VectorService

from .filters import KEY, filter_of, key_of

#: The metadata that keeps a document as it was, without its content and embedding.
_DOCUMENT = "_haystack"

#: Most entries of one request, and the bytes at which one is sent before it has as many.
_ENTRIES = 10_000
_BYTES = 16 << 20

#: Documents of one page of filter_documents.
_PAGE = 1000


class RagdDocumentStore:
    """Stores documents with embeddings of Haystack in an index of ragd.

    The index is made at the first use, with the settings of CreateIndexRequest in index_settings, unless it
    exists. Errors are ragd.RagdError, FilterError for a filter that does not exist here, and
    DuplicateDocumentError.
    """

    def __init__(
        self,
        *,
        url: str = "http://127.0.0.1:8484",
        api_key: Secret = Secret.from_env_var("RAGD_API_KEY"),  # noqa: B008 (as all document stores do)
        index: str = "haystack",
        embedding_dimension: int = 768,
        namespace: str = "",
        index_settings: dict[str, Any] | None = None,
    ) -> None:
        self.url = url
        self.api_key = api_key
        self.index = index
        self.embedding_dimension = embedding_dimension
        self.namespace = namespace
        self.index_settings = index_settings or {}
        self._client: Ragd | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings of the store, with the name of the secret's variable."""
        return default_to_dict(
            self,
            url=self.url,
            api_key=self.api_key.to_dict(),
            index=self.index,
            embedding_dimension=self.embedding_dimension,
            namespace=self.namespace,
            index_settings=self.index_settings,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RagdDocumentStore:
        """Returns the store with these settings."""
        settings = data.get("init_parameters", {})
        if isinstance(settings.get("api_key"), dict):
            settings["api_key"] = Secret.from_dict(settings["api_key"])
        return default_from_dict(cls, data)

    @property
    def client(self) -> Ragd:
        """The client. The first use makes the index."""
        if self._client is None:
            client = Ragd(self.url, self.api_key.resolve_value())
            index = client.index(self.index)
            try:
                index.describe()
            except RagdError as error:
                if error.code != "not_found":
                    raise
                index.create(**{"dimension": self.embedding_dimension, **self.index_settings})
            self._client = client
        return self._client

    @property
    def _vectors(self) -> VectorService:
        return self.client.rpc(VectorService)

    def count_documents(self) -> int:
        """Returns the number of documents. Without a namespace it takes the same time for any number."""
        if self.namespace:
            return sum(1 for _ in self._pages(None, include_vector=False))
        return self.client.index(self.index).describe()["count"]

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Returns the number of documents that the filters select, which it reads."""
        return sum(1 for _ in self._pages(filter_of(filters), include_vector=False))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Returns the documents that the filters select, in the order of their ids."""
        return list(self._pages(filter_of(filters), include_vector=True))

    def _pages(self, selected: dict[str, Any] | None, *, include_vector: bool) -> Iterator[Document]:
        after = ""
        while True:
            rest: dict[str, Any] = {KEY: {"$gt": after} if after else {"$exists": True}}
            asked: QueryRequest = {
                "indexName": self.index,
                "namespace": self.namespace,
                "topK": _PAGE,
                "includeVector": include_vector,
                "filter": {"$and": [rest, selected]} if selected else rest,
            }
            found = self._vectors.query(asked)["results"]
            for result in found:
                yield document_of(result.get("document", ""), result.get("metadata", {}), result.get("vector"))
            if len(found) < _PAGE:
                return
            after = key_of(found[-1]["id"])

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Writes documents and returns how many were written. The default policy is FAIL.

        Another writer may write the same document between the look for duplicates and the write.
        """
        if not isinstance(documents, list) or not all(isinstance(document, Document) for document in documents):
            raise ValueError("documents must be a list of Documents")
        if policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL, DuplicatePolicy.SKIP):
            ids = [document.id for document in documents]
            known = self._known(ids)
            repeated = {one for one in ids if ids.count(one) > 1} if len(set(ids)) < len(ids) else set()
            if policy == DuplicatePolicy.SKIP:
                first: dict[str, Document] = {}
                for document in documents:
                    if document.id not in known:
                        first.setdefault(document.id, document)
                documents = list(first.values())
            elif known or repeated:
                raise DuplicateDocumentError(f"document {sorted(known | repeated)[0]} exists already")
        entries = [self._entry(document) for document in documents]
        for batch in _batches(entries):
            self._vectors.upsert({"indexName": self.index, "namespace": self.namespace, "entries": batch})
        return len(entries)

    def _known(self, ids: list[str]) -> set[str]:
        known: set[str] = set()
        for start in range(0, len(ids), _PAGE):
            part = ids[start : start + _PAGE]
            asked: QueryRequest = {
                "indexName": self.index,
                "namespace": self.namespace,
                "topK": len(part),
                "filter": {KEY: {"$in": [key_of(one) for one in part]}},
            }
            known |= {result["id"] for result in self._vectors.query(asked)["results"]}
        return known

    def _entry(self, document: Document) -> Entry:
        kept = document.to_dict(flatten=False)
        for field in ("content", "embedding"):
            kept.pop(field, None)
        kept["has"] = [field for field in ("content", "embedding") if getattr(document, field) is not None]
        return {
            "id": document.id,
            "values": list(map(float, document.embedding)) if document.embedding is not None else [0.0] * self.embedding_dimension,
            "document": document.content or "",
            "metadata": {**json.loads(json.dumps(document.meta, default=str)), KEY: key_of(document.id), _DOCUMENT: json.dumps(kept, default=str)},
        }

    def delete_documents(self, document_ids: list[str]) -> None:
        """Deletes documents by their ids. Those that do not exist are ignored."""
        for start in range(0, len(document_ids), _ENTRIES):
            self._delete({"ids": document_ids[start : start + _ENTRIES]})

    def delete_all_documents(self) -> None:
        """Deletes all documents that Haystack wrote; those that were uploaded to the index stay."""
        self._delete({"filter": {KEY: {"$exists": True}}})

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Deletes the documents that the filters select, and returns how many."""
        selected = filter_of(filters)
        if selected is None:
            raise ValueError("filters must not be empty; delete_all_documents deletes all")
        return self._delete({"filter": {"$and": [{KEY: {"$exists": True}}, selected]}})

    def _delete(self, which: dict[str, Any]) -> int:
        answer = self._vectors.delete(cast(DeleteRequest, {"indexName": self.index, "namespace": self.namespace, **which}))
        return int(answer.get("deletedCount", 0))

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Adds meta to that of the documents that the filters select, which it reads and writes, and returns how many."""
        documents = [replace(document, meta=document.meta | meta) for document in self.filter_documents(filters)]
        return self.write_documents(documents, DuplicatePolicy.OVERWRITE)

    def search(
        self, query: str, embedding: list[float] | None, mode: str, filters: dict[str, Any] | None, settings: dict[str, Any]
    ) -> list[Document]:
        """Returns the documents that match best, with their scores. settings are those of RagdIndex.query."""
        found = self.client.index(self.index).query(
            query,
            **{"vector": embedding, "mode": mode, "filter": filter_of(filters), "namespace": self.namespace or None, **settings},
        )
        return [
            document_of(source.get("document", ""), source.get("metadata", {}), source.get("vector"), source["id"], source.get("score", 0.0))
            for source in found["sources"]
        ]

    async def count_documents_async(self) -> int:
        """As count_documents, in a thread."""
        return await asyncio.to_thread(self.count_documents)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """As count_documents_by_filter, in a thread."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """As filter_documents, in a thread."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """As write_documents, in a thread."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """As delete_documents, in a thread."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self) -> None:
        """As delete_all_documents, in a thread."""
        await asyncio.to_thread(self.delete_all_documents)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """As delete_by_filter, in a thread."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """As update_by_filter, in a thread."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)


def document_of(text: str, metadata: dict[str, Any], vector: list[float] | None, chunk_id: str = "", score: float | None = None) -> Document:
    """Returns a stored document; for the chunk of an uploaded document a new one."""
    if _DOCUMENT not in metadata:
        return Document(id=chunk_id, content=text, meta={key: value for key, value in metadata.items() if key != "text"}, score=score)
    kept = json.loads(metadata[_DOCUMENT])
    has = kept.pop("has")
    if "content" in has:
        kept["content"] = text
    if "embedding" in has and vector:
        kept["embedding"] = list(vector)
    if score is not None:
        kept["score"] = score
    return Document.from_dict(kept)


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
