"""Embeddings of the service's models."""

from langchain_core.embeddings import Embeddings
from ragd import Ragd


class RagdEmbeddings(Embeddings):
    """Embeds texts with a model of the service; the default one unless model names another."""

    def __init__(self, client: Ragd, model: str = "") -> None:
        self.client = client
        self.model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Returns the embeddings of texts, in their order."""
        return self.client.embed(texts, model=self.model) if texts else []

    def embed_query(self, text: str) -> list[float]:
        """Returns the embedding of a question."""
        return self.client.embed([text], model=self.model)[0]
