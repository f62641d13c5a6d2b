"""Fixtures: clients of the running service that the environment names."""

import os
import secrets
import string
from collections.abc import AsyncIterator, Iterator

import pytest

import ragd


def fresh() -> str:
    """Return a name of letters alone: a question that names the index would find the numbers in it."""
    return "python_" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(12))


@pytest.fixture
def client() -> Iterator[ragd.Ragd]:
    with ragd.Ragd(os.environ["RAGD_SERVER"], os.environ["RAGD_API_KEY"]) as client:
        yield client


@pytest.fixture
async def aclient() -> AsyncIterator[ragd.AsyncRagd]:
    async with ragd.AsyncRagd(os.environ["RAGD_SERVER"], os.environ["RAGD_API_KEY"]) as client:
        yield client


@pytest.fixture
def index(client: ragd.Ragd) -> Iterator[ragd.RagdIndex]:
    index = client.index(fresh())
    index.create()
    yield index
    index.drop()


@pytest.fixture
async def aindex(aclient: ragd.AsyncRagd) -> AsyncIterator[ragd.AsyncRagdIndex]:
    index = aclient.index(fresh())
    await index.create()
    yield index
    await index.drop()
