"""Haystack's retrievers on ragd."""

from .retrievers import RagdEmbeddingRetriever, RagdHybridRetriever, RagdKeywordRetriever, RagdRetriever

__all__ = ["RagdEmbeddingRetriever", "RagdHybridRetriever", "RagdKeywordRetriever", "RagdRetriever"]
