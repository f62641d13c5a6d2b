"""Fixtures: clients of the running service that the environment names."""

import os
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

import ragd


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
    index = client.index(f"python_{uuid.uuid4().hex[:12]}")
    index.create()
    yield index
    index.drop()


@pytest.fixture
async def aindex(aclient: ragd.AsyncRagd) -> AsyncIterator[ragd.AsyncRagdIndex]:
    index = aclient.index(f"python_{uuid.uuid4().hex[:12]}")
    await index.create()
    yield index
    await index.drop()
