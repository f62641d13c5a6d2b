"""Haystack's own tests of document stores, and those of the retrievers, against a running service."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing.document_store import CountDocumentsByFilterTest, DocumentStoreBaseExtendedTests
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
)

from haystack_integrations.components.retrievers.ragd import RagdEmbeddingRetriever, RagdHybridRetriever, RagdKeywordRetriever, RagdRetriever
from haystack_integrations.document_stores.ragd import RagdDocumentStore


def new_store() -> Iterator[RagdDocumentStore]:
    store = RagdDocumentStore(url=os.environ["RAGD_SERVER"], index=f"haystack_{uuid.uuid4().hex[:12]}")
    yield store
    store.client.index(store.index).drop()


document_store = pytest.fixture(new_store)


class Equal:
    """Compares documents in any order, and embeddings as the 32-bit numbers that they are stored as."""

    @pytest.fixture
    def document_store(self) -> Iterator[RagdDocumentStore]:
        yield from new_store()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        assert len(received) == len(expected)
        for got, want in zip(sorted(received, key=lambda d: d.id), sorted(expected, key=lambda d: d.id), strict=True):
            assert (got.embedding is None) == (want.embedding is None)
            if want.embedding is not None:
                assert got.embedding == pytest.approx(want.embedding, rel=1e-6)
            assert replace(got, embedding=None) == replace(want, embedding=None)


class TestDocumentStore(Equal, DocumentStoreBaseExtendedTests, CountDocumentsByFilterTest):
    def test_write_documents(self, document_store: RagdDocumentStore) -> None:
        documents = [Document(content="test doc")]
        assert document_store.write_documents(documents) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(documents)
        self.assert_documents_are_equal(document_store.filter_documents(), documents)


class TestAwaited(
    Equal,
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
):
    async def test_write_documents_async(self, document_store: RagdDocumentStore) -> None:
        assert await document_store.write_documents_async([Document(content="test doc")]) == 1


def test_documents_come_back_as_they_were(document_store: RagdDocumentStore) -> None:
    kinds = {"int": 1, "float": 1.0, "text": "1", "true": True, "list": [1, "a"], "none": None, "deep": {"a": {"b": 1}}}
    documents = [
        Document(id="nothing"),
        Document(id="empty", content=""),
        Document(id="blob", blob=ByteStream(b"\x00\xff", mime_type="image/png", meta={"a": 1})),
        Document(id="types", content="x", meta=kinds),
    ]
    document_store.write_documents(documents)
    Equal.assert_documents_are_equal(document_store.filter_documents(), documents)
    (types,) = document_store.filter_documents({"field": "meta.deep.a.b", "operator": "==", "value": 1})
    assert [type(value) for value in types.meta.values()] == [type(value) for value in documents[3].meta.values()]
    assert [d.id for d in document_store.filter_documents({"field": "id", "operator": "in", "value": ["empty", "blob"]})] == ["blob", "empty"]
    with pytest.raises(FilterError):
        document_store.filter_documents({"field": "content", "operator": "==", "value": "x"})


def test_more_documents_than_a_page(document_store: RagdDocumentStore) -> None:
    documents = [Document(id=f"{at:05}", content=str(at), meta={"odd": at % 2 == 1}) for at in range(2500)]
    assert document_store.write_documents(documents) == 2500
    assert [d.id for d in document_store.filter_documents()] == [d.id for d in documents]
    odd = {"field": "meta.odd", "operator": "==", "value": True}
    assert document_store.count_documents_by_filter(odd) == 1250
    assert document_store.write_documents(documents + [Document(id="new")], policy=DuplicatePolicy.SKIP) == 1
    assert document_store.delete_by_filter(odd) == 1250
    assert document_store.count_documents() == 1251


def vectors(store: RagdDocumentStore) -> None:
    def at(*places: int) -> list[float]:
        return [1.0 if place in places else 0.0 for place in range(store.embedding_dimension)]

    store.write_documents(
        [
            Document(id="gate", content="The gate opens at noon.", embedding=at(0), meta={"team": "harbour"}),
            Document(id="paint", content="The gate is painted.", embedding=at(0, 1), meta={"team": "harbour"}),
            Document(id="bill", content="Invoices are paid late.", embedding=at(2), meta={"team": "office"}),
        ]
    )


async def test_retrievers(document_store: RagdDocumentStore) -> None:
    vectors(document_store)
    nearest = [1.0] + [0.0] * 767
    embedding = RagdEmbeddingRetriever(document_store=document_store, top_k=2)
    found = embedding.run(query_embedding=nearest)["documents"]
    assert [d.id for d in found] == ["gate", "paint"] and found[0].score == pytest.approx(1, abs=1e-6)
    office = {"field": "meta.team", "operator": "==", "value": "office"}
    assert [d.id for d in (await embedding.run_async(query_embedding=nearest, filters=office))["documents"]] == ["bill"]
    bound = RagdEmbeddingRetriever(document_store=document_store, filters={"field": "meta.team", "operator": "==", "value": "harbour"})
    assert bound.run(query_embedding=nearest, filters=office)["documents"] == []
    keyword = RagdKeywordRetriever(document_store=document_store)
    assert [d.id for d in keyword.run(query="invoices")["documents"]] == ["bill"]
    hybrid = RagdHybridRetriever(document_store=document_store, top_k=2)
    assert {d.id for d in hybrid.run(query="invoices", query_embedding=nearest)["documents"]} == {"bill", "gate"}


def test_pipelines_are_stored(document_store: RagdDocumentStore) -> None:
    vectors(document_store)
    pipeline = Pipeline()
    pipeline.add_component(
        "words", RagdKeywordRetriever(document_store=document_store, top_k=1, filters={"field": "meta.team", "operator": "!=", "value": "x"})
    )
    pipeline.add_component("graph", RagdRetriever(document_store=document_store, graph=True))
    stored = pipeline.dumps()
    assert os.environ["RAGD_API_KEY"] not in stored
    again = Pipeline.loads(stored)
    assert again.get_component("graph").graph is True
    words = again.get_component("words")
    assert [d.id for d in words.run(query="painted")["documents"]] == ["paint"]
    alone = Pipeline()
    alone.add_component("words", RagdKeywordRetriever.from_dict(words.to_dict()))
    assert [d.id for d in alone.run({"words": {"query": "painted"}})["words"]["documents"]] == ["paint"]


def test_uploaded_documents() -> None:
    store = RagdDocumentStore(
        url=os.environ["RAGD_SERVER"],
        index=f"haystack_{uuid.uuid4().hex[:12]}",
        embedding_dimension=512,
        index_settings={"embeddingModel": "builtin/hash-512"},
    )
    index = store.client.index(store.index)
    for at in range(4):
        index.upload(f"Berth {at} takes ships of {at}0 metres.", uri=f"{at}.md", metadata={"number": at})
    late = {"field": "meta.number", "operator": ">=", "value": 2}
    found = RagdRetriever(document_store=store).run("which berth takes ships?", filters=late)["documents"]
    assert {d.meta["uri"] for d in found} == {"2.md", "3.md"} and all(d.score for d in found)
    assert len(RagdRetriever(document_store=store, graph=True, top_k=3).run("ships")["documents"]) == 3
    store.delete_all_documents()
    assert index.describe()["documentCount"] == 4
    index.drop()


def test_readme() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "Trains leave at noon.\ntides.md\n"
