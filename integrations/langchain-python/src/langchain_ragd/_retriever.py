"""The retriever, for documents that ragd splits, embeds and searches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field
from ragd import Ragd, UploadResult
from ragd.api import Source


class RagdRetriever(BaseRetriever):
    """Searches an index of ragd: by vectors and keywords, with reranking, or by a walk through its graph.

    query holds settings of RagdIndex.query, or with graph=True of RagdIndex.graph, such as
    {"mode": "hybrid", "filter": {"team": "legal"}}. k is the number of documents, 10 by default. Found
    documents have the metadata of the upload, and uri as source, title, document_id, ordinal,
    start_byte, end_byte and score.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Ragd
    index_name: str
    graph: bool = False
    k: int | None = None
    query: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Any) -> list[Document]:
        index = self.client.index(self.index_name)
        asked = {"k": self.k, **self.query, **settings}
        k = asked.pop("k")
        if k is not None:
            asked["top_k"] = k
        found = index.graph(query, **asked) if self.graph else index.query(query, **asked)
        return [_document(source) for source in found["sources"]]


def _document(source: Source) -> Document:
    metadata = {
        **source.get("metadata", {}),
        "source": source.get("uri", ""),
        "title": source.get("title", ""),
        "document_id": source.get("documentId", ""),
        "ordinal": source.get("ordinal", 0),
        "start_byte": source.get("startByte", 0),
        "end_byte": source.get("endByte", 0),
        "score": source.get("score", 0.0),
    }
    return Document(id=source["id"], page_content=source["document"], metadata=metadata)


def upload_documents(client: Ragd, index_name: str, documents: Iterable[Document], *, wait: bool = True) -> list[UploadResult]:
    """Uploads documents of a loader. Those of one metadata["source"], such as the pages of a file, become one
    document of ragd, with the metadata that all of them have. Without a source, the id names a document.
    """
    of_source: dict[str, list[Document]] = {}
    for number, document in enumerate(documents):
        name = document.metadata.get("source") or document.id or f"document-{number}"
        of_source.setdefault(str(name), []).append(document)
    index = client.index(index_name)
    results = [
        index.upload(
            "\n\n".join(part.page_content for part in parts),
            uri=uri,
            metadata={key: value for key, value in parts[0].metadata.items() if all(part.metadata.get(key) == value for part in parts)},
            wait=False,
        )
        for uri, parts in of_source.items()
    ]
    if not wait:
        return results
    return [UploadResult(index.document(document_id=result.document["documentId"]), index.wait(result.job)) for result in results]
