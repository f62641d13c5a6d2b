"""LangChain's standard tests, against a running service."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests
from ragd import Ragd, RagdError

from langchain_ragd import RagdEmbeddings, RagdRetriever, RagdVectorStore, upload_documents


def connect() -> Ragd:
    return Ragd(os.environ["RAGD_SERVER"], os.environ["RAGD_API_KEY"])


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:  # type: ignore[override]
        with connect() as client:
            index = client.index(f"langchain_{uuid.uuid4().hex[:12]}")
            index.create(dimension=6)
            yield RagdVectorStore(self.get_embeddings(), client=client, index_name=index.name)
            index.drop()


@pytest.fixture(scope="module")
def berths() -> Iterator[None]:
    with connect() as client:
        client.index("langchain_retriever").create()
        texts = [f"Berth {number} takes ships of {number} metres." for number in range(5)]
        upload_documents(client, "langchain_retriever", [Document(text, metadata={"source": f"{at}.md"}) for at, text in enumerate(texts)])
        yield
        client.index("langchain_retriever").drop()


@pytest.mark.usefixtures("berths")
class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[RagdRetriever]:
        return RagdRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, object]:
        return {"client": connect(), "index_name": "langchain_retriever"}

    @property
    def num_results_arg_name(self) -> str:
        return "k"

    @property
    def retriever_query_example(self) -> str:
        return "which berth takes ships?"


@pytest.mark.usefixtures("berths")
def test_questions_and_walks() -> None:
    found = RagdRetriever(client=connect(), index_name="langchain_retriever", query={"top_k": 2}).invoke("ships")
    assert len(found) == 2 and found[0].metadata["source"].endswith(".md") and found[0].metadata["score"] > 0
    walked = RagdRetriever(client=connect(), index_name="langchain_retriever", graph=True, query={"top_k": 3}).invoke("ships")
    assert len(walked) == 3


def test_filters_relevance_and_deletion() -> None:
    with connect() as client:
        name = f"langchain_{uuid.uuid4().hex[:12]}"
        texts = ["The gate opens at noon.", "Invoices are paid.", "The gate is painted."]
        metadatas = [{"team": "a"}, {"team": "b"}, {"team": "a"}]
        store = RagdVectorStore.from_texts(texts, RagdEmbeddings(client), metadatas, ids=["1", "2", "3"], client=client, index_name=name)
        assert {document.id for document in store.similarity_search("gate", filter={"team": "a"})} == {"1", "3"}
        assert store.similarity_search_with_relevance_scores("The gate opens at noon.", k=1)[0][1] == pytest.approx(1, abs=1e-3)
        assert len(store.max_marginal_relevance_search("gate", k=2)) == 2
        assert store.as_retriever(search_kwargs={"k": 1}).invoke("invoices")[0].metadata == {"team": "b"}
        store.delete(filter={"team": "a"})
        assert [document.id for document in store.get_by_ids(["1", "2", "3"])] == ["2"]
        with pytest.raises(ValueError, match="ids or a filter"):
            store.delete()
        with pytest.raises(ValueError, match="2 ids for 1 texts"):
            store.add_texts(["a"], ids=["1", "2"])
        with pytest.raises(RagdError):
            RagdVectorStore(DeterministicFakeEmbedding(size=3), client=client, index_name=name).similarity_search("gate")
        client.index(name).drop()


def test_the_example_of_the_readme_runs() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["tides.md", "Invoices are paid within thirty days."]
