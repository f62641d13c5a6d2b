"""LlamaIndex's vector store and retriever on ragd."""

from .retriever import RagdRetriever
from .store import RagdVectorStore

__all__ = ["RagdRetriever", "RagdVectorStore"]
