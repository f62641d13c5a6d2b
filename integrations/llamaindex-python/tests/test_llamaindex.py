"""The vector store and the retriever against a running service, and LlamaIndex's own store as the oracle of filters."""

import asyncio
import itertools
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import ImageNode, IndexNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from ragd import Ragd, RagdError

from llama_index.vector_stores.ragd import RagdRetriever, RagdVectorStore


@pytest.fixture(scope="module")
def client() -> Iterator[Ragd]:
    with Ragd(os.environ["RAGD_SERVER"], os.environ["RAGD_API_KEY"]) as made:
        yield made


@pytest.fixture
def store(client: Ragd) -> Iterator[RagdVectorStore]:
    made = RagdVectorStore(client=client, index_name=f"llamaindex_{uuid.uuid4().hex[:12]}")
    yield made
    with pytest.raises(RagdError) if not made._created else nullcontext():
        client.index(made.index_name).drop()


class nullcontext:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def node(node_id: str, text: str, embedding: list[float], ref: str = "", **metadata: Any) -> TextNode:
    made = TextNode(id_=node_id, text=text, embedding=embedding, metadata=metadata)
    if ref:
        made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=ref)
    return made


NODES = [
    node("a", "The gate opens at noon", [1, 0, 0], "doc1", team="harbour", year=2020, tags=["x", "y"], note="Open Door"),
    node("b", "Invoices are paid late", [0, 1, 0], "doc1", team="office", year=2021, tags=["y"], note="closed"),
    node("c", "The gate is painted", [0.9, 0.1, 0], "doc2", team="harbour", year=2022, tags=[], note=""),
    node("d", "Trains leave at nine", [0, 0, 1], "doc2", year=2023),
]

EVERY_OPERATOR = [
    MetadataFilter(key="team", value="harbour"),
    MetadataFilter(key="team", value="harbour", operator=FilterOperator.NE),
    MetadataFilter(key="year", value=2021, operator=FilterOperator.EQ),
    MetadataFilter(key="year", value=2021, operator=FilterOperator.GT),
    MetadataFilter(key="year", value=2021, operator=FilterOperator.GTE),
    MetadataFilter(key="year", value=2021, operator=FilterOperator.LT),
    MetadataFilter(key="year", value=2021, operator=FilterOperator.LTE),
    MetadataFilter(key="team", value=["harbour", "none"], operator=FilterOperator.IN),
    MetadataFilter(key="team", value=["harbour", "none"], operator=FilterOperator.NIN),
    MetadataFilter(key="year", value=[2020, 2023], operator=FilterOperator.IN),
    MetadataFilter(key="tags", value=["x", "z"], operator=FilterOperator.ANY),
    MetadataFilter(key="tags", value=["x", "y"], operator=FilterOperator.ALL),
    MetadataFilter(key="tags", value="y", operator=FilterOperator.CONTAINS),
    MetadataFilter(key="note", value="Open", operator=FilterOperator.TEXT_MATCH),
    MetadataFilter(key="note", value="open", operator=FilterOperator.TEXT_MATCH),
    MetadataFilter(key="note", value="n.o", operator=FilterOperator.TEXT_MATCH),
    MetadataFilter(key="note", value="OPEN", operator=FilterOperator.TEXT_MATCH_INSENSITIVE),
    MetadataFilter(key="tags", value=None, operator=FilterOperator.IS_EMPTY),
    MetadataFilter(key="note", value=None, operator=FilterOperator.IS_EMPTY),
    MetadataFilter(key="team", value=None, operator=FilterOperator.IS_EMPTY),
]


def query(vector: list[float], k: int = 10, **options: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=vector, similarity_top_k=k, **options)


def test_filters_select_what_llamaindex_selects(store: RagdVectorStore) -> None:
    oracle = SimpleVectorStore()
    store.add(NODES)
    oracle.add(NODES)
    sets = [MetadataFilters(filters=[one]) for one in EVERY_OPERATOR]
    sets += [MetadataFilters(filters=[one], condition=FilterCondition.NOT) for one in EVERY_OPERATOR]
    for condition in FilterCondition:
        sets += [MetadataFilters(filters=list(pair), condition=condition) for pair in itertools.combinations(EVERY_OPERATOR[::3], 2)]
    for filters in sets:
        asked = query([1, 0.5, 0.2], filters=filters)
        assert set(store.query(asked).ids or []) == set(oracle.query(asked).ids or []), filters
        assert {found.node_id for found in store.get_nodes(filters=filters)} == set(oracle.query(asked).ids or []), filters


def test_nested_filters(store: RagdVectorStore) -> None:
    store.add(NODES)
    team, late = EVERY_OPERATOR[0], MetadataFilter(key="year", value=2021, operator=FilterOperator.GT)
    early = MetadataFilter(key="year", value=2021, operator=FilterOperator.LT)
    either = MetadataFilters(filters=[early, late], condition=FilterCondition.OR)
    assert set(store.query(query([1, 0, 0], filters=MetadataFilters(filters=[team, either]))).ids or []) == {"a", "c"}
    neither = MetadataFilters(filters=[MetadataFilters(filters=[either, team])], condition=FilterCondition.NOT)
    assert set(store.query(query([1, 0, 0], filters=neither)).ids or []) == {"b", "d"}
    for wrong in (MetadataFilter(key="a", value="b", operator=FilterOperator.IN), MetadataFilter(key="a", value=None)):
        with pytest.raises(ValueError, match=r"filters\.a"):
            store.query(query([1, 0, 0], filters=MetadataFilters(filters=[wrong])))


def test_names_of_fields_are_no_paths(store: RagdVectorStore) -> None:
    store.add([node("a", "text", [1, 0], **{"a.b": "1", "$c": "2", "d\\e": "3"}), node("b", "text", [1, 0], a={"b": "1"})])
    for key, value in {"a.b": "1", "$c": "2", "d\\e": "3"}.items():
        filters = MetadataFilters(filters=[MetadataFilter(key=key, value=value)])
        assert store.query(query([1, 0], filters=filters)).ids == ["a"], key


def test_nodes_come_back_as_they_were(store: RagdVectorStore) -> None:
    kinds = [
        node("text", "some text", [1, 0], "doc", team="a"),
        IndexNode(id_="index", text="an index", index_id="other", embedding=[0, 1]),
        ImageNode(id_="image", text="a picture", image_url="https://example.com/a.png", embedding=[1, 1]),
    ]
    kinds[0].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="index")
    kinds[0].excluded_embed_metadata_keys = ["team"]
    assert store.add(kinds) == ["text", "index", "image"]
    back = store.get_nodes(["image", "none", "text", "index"])
    for got, want in zip(back, [kinds[2], kinds[0], kinds[1]], strict=True):
        assert type(got) is type(want)
        assert got.model_dump(exclude={"embedding"}) == want.model_dump(exclude={"embedding"})
    store.add([node("text", "other text", [1, 0])])
    assert store.get_nodes(["text"])[0].get_content() == "other text"


def test_modes(store: RagdVectorStore) -> None:
    store.add(NODES)
    nearest = store.query(query([1, 0, 0], 2))
    assert nearest.ids == ["a", "c"] and (nearest.similarities or [0])[0] == pytest.approx(1, abs=1e-6)
    keywords = VectorStoreQuery(query_str="invoices", similarity_top_k=3, mode=VectorStoreQueryMode.TEXT_SEARCH)
    assert store.query(keywords).ids == ["b"]
    hybrid = store.query(query([0, 0, 1], 4, query_str="invoices", mode=VectorStoreQueryMode.HYBRID, alpha=0.5))
    assert set((hybrid.ids or [])[:2]) == {"b", "d"}
    diverse = store.query(query([1, 0.05, 0], 2, mode=VectorStoreQueryMode.MMR, mmr_threshold=0.1))
    assert diverse.ids is not None and set(diverse.ids) != {"a", "c"}
    assert set(store.query(query([1, 0, 0], doc_ids=["doc2"])).ids or []) == {"c", "d"}
    assert set(store.query(query([1, 0, 0], node_ids=["a", "d"])).ids or []) == {"a", "d"}
    with pytest.raises(ValueError, match="svm"):
        store.query(query([1, 0, 0], mode=VectorStoreQueryMode.SVM))


def test_deletion(store: RagdVectorStore) -> None:
    store.delete("doc1")  # the index does not exist yet
    store.add(NODES)
    store.delete("doc1")
    assert {found.node_id for found in store.get_nodes()} == {"c", "d"}
    store.delete_nodes(["c"], MetadataFilters(filters=[MetadataFilter(key="year", value=1)]))
    assert len(store.get_nodes()) == 2
    store.delete_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="year", value=2022)]))
    store.delete_nodes(["none"])
    assert {found.node_id for found in store.get_nodes()} == {"d"}
    with pytest.raises(ValueError, match="clear"):
        store.delete_nodes()
    store.clear()
    assert store.get_nodes() == []


async def test_awaited(store: RagdVectorStore) -> None:
    assert await store.async_add(NODES) == ["a", "b", "c", "d"]
    found = await asyncio.gather(*(store.aquery(query([1, 0, 0], 1)) for _ in range(20)))
    assert all(result.ids == ["a"] for result in found)
    assert [got.node_id for got in await store.aget_nodes(["b"])] == ["b"]
    await store.adelete_nodes(["b"])
    await store.adelete("doc2")
    assert [got.node_id for got in await store.aget_nodes()] == ["a"]
    await store.aclear()
    assert await store.aget_nodes() == []


def test_an_index_of_llamaindex(store: RagdVectorStore) -> None:
    documents = [Document(id_=f"d{at}", text=f"Berth {at} takes ships of {at}0 metres.", metadata={"number": at}) for at in range(6)]
    embedding = MockEmbedding(embed_dim=4)
    index = VectorStoreIndex.from_documents(documents, storage_context=StorageContext.from_defaults(vector_store=store), embed_model=embedding)
    filters = MetadataFilters(filters=[MetadataFilter(key="number", value=3)])
    found = index.as_retriever(filters=filters).retrieve("ships")
    assert [hit.node.ref_doc_id for hit in found] == ["d3"]
    index.delete_ref_doc("d3")
    again = VectorStoreIndex.from_vector_store(store, embed_model=embedding)
    assert again.as_retriever(filters=filters).retrieve("ships") == []
    assert len(again.as_retriever(similarity_top_k=10).retrieve("ships")) == 5


def test_retriever(client: Ragd) -> None:
    index = client.index(f"llamaindex_{uuid.uuid4().hex[:12]}")
    index.create()
    for at in range(4):
        index.upload(f"Berth {at} takes ships of {at}0 metres.", uri=f"{at}.md", metadata={"number": at})
    found = RagdRetriever(client, index.name, top_k=2, query={"filter": {"number": {"$gte": 2}}}).retrieve("which berth takes ships?")
    assert {hit.node.metadata["uri"] for hit in found} == {"2.md", "3.md"}
    assert all(hit.score and hit.score > 0 and "Berth" in hit.node.get_content() for hit in found)
    walked = asyncio.run(RagdRetriever(client, index.name, top_k=3, graph=True).aretrieve("ships"))
    assert len(walked) == 3
    index.drop()


def test_errors() -> None:
    with Ragd(os.environ["RAGD_SERVER"], "ragd_wrong") as stranger, pytest.raises(RagdError) as refused:
        RagdVectorStore(client=stranger, index_name="x").add([node("a", "b", [1.0])])
    assert refused.value.code == "unauthenticated"


def test_readme() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "tides.md\nTrains leave at noon.\n"
