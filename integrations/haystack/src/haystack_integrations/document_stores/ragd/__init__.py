"""Haystack's document store on ragd."""

from .store import RagdDocumentStore

__all__ = ["RagdDocumentStore"]
