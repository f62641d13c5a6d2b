"""Cohere's package for Python against /v1/rerank and /v2/rerank."""

import os

import cohere
import pytest

SERVER = os.environ["RAGD_SERVER"]
KEY = os.environ["RAGD_API_KEY"]
TEXTS = ["Trains leave at noon.", "Everybody has thirty days of leave.", "The harbour is closed."]


def test_v2() -> None:
    client = cohere.ClientV2(api_key=KEY, base_url=SERVER)
    made = client.rerank(model="builtin/lexical", query="how many days of leave", documents=TEXTS, top_n=2)
    assert made.results[0].index == 1
    assert len(made.results) == 2
    assert 1 >= made.results[0].relevance_score >= made.results[1].relevance_score >= 0


def test_v1() -> None:
    client = cohere.Client(api_key=KEY, base_url=SERVER)
    made = client.rerank(query="days of leave", documents=[{"text": t} for t in TEXTS], return_documents=True)
    assert made.results[0].document is not None and made.results[0].document.text == TEXTS[1]
    assert len(made.results) == 3


def test_refused() -> None:
    client = cohere.ClientV2(api_key=KEY, base_url=SERVER)
    with pytest.raises(cohere.errors.BadRequestError):
        client.rerank(model="nowhere/model", query="x", documents=TEXTS)
    with pytest.raises(cohere.errors.BadRequestError):
        client.rerank(model="builtin/lexical", query="x", documents=[])
    with pytest.raises(cohere.errors.UnauthorizedError):
        cohere.ClientV2(api_key="wrong", base_url=SERVER).rerank(model="m", query="x", documents=TEXTS)
