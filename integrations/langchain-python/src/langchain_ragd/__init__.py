"""LangChain's vector store, retriever and embeddings on ragd."""

from ._embeddings import RagdEmbeddings
from ._retriever import RagdRetriever, upload_documents
from ._store import RagdVectorStore

__all__ = ["RagdEmbeddings", "RagdRetriever", "RagdVectorStore", "upload_documents"]
