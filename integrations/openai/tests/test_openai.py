"""OpenAI's package for Python against the OpenAI-compatible interface."""

import base64
import os
import re
import struct
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

SERVER = os.environ["RAGD_SERVER"]
KEY = os.environ["RAGD_API_KEY"]
OPERATOR = os.environ["RAGD_OPERATOR_KEY"]
AGENT = "agent/" + os.environ["RAGD_TEST_AGENT"]
HANDBOOK = {
    "leave.md": ("people", "# Leave\n\nEverybody has 30 days of leave a year, and five more after ten years."),
    "travel.md": ("people", "# Travel\n\nTrains are booked in second class. Flights need the consent of a lead."),
    "backup.md": ("machines", "# Backup\n\nThe databases are copied every night to the other site."),
    "oncall.md": ("machines", "# On call\n\nWhoever is on call answers within fifteen minutes."),
}


def rpc(service: str, method: str, key: str, **message: object) -> dict[str, object]:
    answer = httpx.post(
        f"{SERVER}/ragd.v1.{service}/{method}", json=message, headers={"Authorization": f"Bearer {key}"}, timeout=60
    )
    answer.raise_for_status()
    return dict(answer.json())


@pytest.fixture(scope="module")
def client() -> OpenAI:
    return OpenAI(base_url=SERVER + "/v1", api_key=KEY, max_retries=1)


@pytest.fixture(scope="module")
def other() -> OpenAI:
    """A client of another tenant."""
    tenant = "t" + uuid.uuid4().hex[:12]
    rpc("TenantService", "CreateTenant", OPERATOR, tenantId=tenant)
    made = rpc("TenantService", "CreateApiKey", OPERATOR, tenantId=tenant, scopes=["admin"])
    return OpenAI(base_url=SERVER + "/v1", api_key=str(made["secret"]), max_retries=0)


@pytest.fixture(scope="module")
def store(client: OpenAI) -> Iterator[str]:
    made = client.vector_stores.create(name="Handbook of the house", metadata={"owner": "rosa"})
    for name, (team, text) in HANDBOOK.items():
        added = client.vector_stores.files.upload_and_poll(
            vector_store_id=made.id, file=(name, text.encode()), attributes={"team": team, "length": len(text)}
        )
        assert added.status == "completed", added.last_error
        assert added.attributes == {"team": team, "length": len(text)}
    yield made.id
    client.vector_stores.delete(made.id)


def test_embeddings(client: OpenAI) -> None:
    made = client.embeddings.create(model="builtin/hash-512", input=["one text", "another text"])
    assert [len(e.embedding) for e in made.data] == [512, 512]
    assert [e.index for e in made.data] == [0, 1]
    assert made.model == "builtin/hash-512"
    assert made.usage.prompt_tokens == 4
    plain = client.embeddings.create(model="hash-512", input="one text", encoding_format="float")
    assert plain.data[0].embedding == pytest.approx(made.data[0].embedding)
    raw = httpx.post(
        SERVER + "/v1/embeddings",
        headers={"Authorization": f"Bearer {KEY}"},
        json={"model": "hash-512", "input": "one text", "encoding_format": "base64"},
    ).json()["data"][0]["embedding"]
    assert struct.unpack("<512f", base64.b64decode(raw)) == pytest.approx(made.data[0].embedding)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"input": [[1, 2, 3]]}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"input": []}, "input"),
        ({"input": "  "}, "input"),
        ({"model": "builtin/no-such"}, "model"),
        ({"model": "nowhere/x"}, "model"),
        ({"dimensions": 256}, "dimensions"),
        ({"dimensions": 0}, "dimensions"),
        ({"extra_body": {"colour": "red"}}, "colour"),
    ],
)
def test_embeddings_refuse(client: OpenAI, change: dict[str, object], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(**({"model": "builtin/hash-512", "input": "text"} | change))  # type: ignore[arg-type]
    assert caught.value.param == param
    assert caught.value.type == "invalid_request_error"
    assert caught.value.request_id


def test_models(client: OpenAI) -> None:
    names = [m.id for m in client.models.list()]
    assert "builtin/hash-512" in names
    assert names == sorted(names)
    assert client.models.retrieve("builtin/hash-512").owned_by == "builtin"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("openai/none")


def test_files(client: OpenAI) -> None:
    content = b"some bytes\x00\xff" * 300_000
    made = client.files.create(
        file=("a b/ü.txt", content), purpose="assistants", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert (made.bytes, made.filename, made.status) == (len(content), "ü.txt", "processed")
    assert made.expires_at is not None and made.expires_at - made.created_at == pytest.approx(3600, abs=5)
    assert client.files.retrieve(made.id) == made
    assert client.files.content(made.id).read() == content
    more = [client.files.create(file=(f"{i}.txt", b"x"), purpose="user_data").id for i in range(5)]
    listed = [f.id for f in client.files.list(purpose="user_data", limit=2, order="asc")]
    assert [i for i in listed if i in more] == more
    backwards = [f.id for f in client.files.list(limit=3)]
    assert [i for i in backwards if i in more] == more[::-1]
    for file_id in [made.id, *more]:
        assert client.files.delete(file_id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(made.id)
    with pytest.raises(openai.NotFoundError):
        client.files.content(made.id)
    with pytest.raises(openai.NotFoundError):
        client.files.delete(made.id)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"purpose": "fine-tune"}, "purpose"),
        ({"file": ("a.txt", b"")}, "file"),
        ({"expires_after": {"anchor": "created_at", "seconds": 5}}, "expires_after[seconds]"),
        ({"expires_after": {"anchor": "never", "seconds": 5000}}, "expires_after[anchor]"),
    ],
)
def test_files_refuse(client: OpenAI, change: dict[str, object], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.files.create(**({"file": ("a.txt", b"x"), "purpose": "assistants"} | change))  # type: ignore[arg-type]
    assert caught.value.param == param


def test_search(client: OpenAI, store: str) -> None:
    found = client.vector_stores.search(store, query="How many days of leave does everybody have?", max_num_results=2)
    results = list(found)
    assert results[0].filename == "leave.md"
    assert "30 days" in results[0].content[0].text
    assert results[0].attributes == {"team": "people", "length": len(HANDBOOK["leave.md"][1])}
    assert 1 >= results[0].score >= results[1].score >= 0
    assert client.vector_stores.files.retrieve(results[0].file_id, vector_store_id=store).status == "completed"

    def names(**options: object) -> set[str]:
        page = client.vector_stores.search(store, query="leave, backup, travel and call", **options)  # type: ignore[arg-type]
        return {r.filename for r in page}

    assert names(filters={"type": "eq", "key": "team", "value": "machines"}) == {"backup.md", "oncall.md"}
    assert names(filters={"type": "in", "key": "team", "value": ["people"]}) == {"leave.md", "travel.md"}
    both = {
        "type": "and",
        "filters": [
            {"type": "ne", "key": "team", "value": "people"},
            {"type": "gte", "key": "length", "value": len(HANDBOOK["backup.md"][1])},
        ],
    }
    assert names(filters=both) == {
        name for name, (team, text) in HANDBOOK.items() if team == "machines" and len(text) >= len(HANDBOOK["backup.md"][1])
    }
    several = client.vector_stores.search(store, query=["days of leave", "nightly copies of databases"], max_num_results=2)
    assert {r.filename for r in several} == {"leave.md", "backup.md"}
    assert names(ranking_options={"ranker": "auto", "score_threshold": 0.999999}) == set()


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"query": []}, "query"),
        ({"max_num_results": 51}, "max_num_results"),
        ({"rewrite_query": True}, "rewrite_query"),
        ({"ranking_options": {"ranker": "best"}}, "ranking_options.ranker"),
        ({"filters": {"type": "like", "key": "a", "value": "b"}}, "filters.type"),
        ({"filters": {"type": "and", "filters": []}}, "filters"),
        ({"filters": {"type": "eq", "key": "$where", "value": "b"}}, "filters.key"),
        ({"filters": {"type": "eq", "key": "a", "value": {"$gt": 1}}}, "filters.value"),
        ({"filters": {"type": "in", "key": "a", "value": "b"}}, "filters.value"),
    ],
)
def test_search_refuses(client: OpenAI, store: str, change: dict[str, object], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.vector_stores.search(store, **({"query": "x"} | change))  # type: ignore[arg-type]
    assert caught.value.param == param


QUESTION = "How many days of leave does everybody have a year?"


def test_models_that_answer(client: OpenAI, store: str) -> None:
    names = [m.id for m in client.models.list()]
    assert {AGENT, "passages", "passages/" + store.removeprefix("vs_")} <= set(names)
    assert client.models.retrieve(AGENT).owned_by == "ragd"


def test_chat_with_an_agent(client: OpenAI, store: str) -> None:
    question = f"{QUESTION} Look in the index {store.removeprefix('vs_')}"
    made = client.chat.completions.create(model=AGENT, messages=[{"role": "user", "content": question}])
    message = made.choices[0].message
    assert message.content is not None and message.content.startswith(
        "The documents answer this [1].\n\n- [1] Leave (leave.md)"
    )
    assert message.annotations is not None
    cited = message.annotations[0].url_citation
    assert (message.content[cited.start_index : cited.end_index], cited.title) == ("[1]", "Leave")
    assert made.choices[0].finish_reason == "stop"
    assert made.usage is not None and made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens > 0

    said, usage = "", None
    stream = client.chat.completions.create(
        model=AGENT,
        messages=[{"role": "user", "content": question}],
        stream=True,
        stream_options={"include_usage": True},
        extra_headers={"Ragd-Footnotes": "false"},
    )
    for chunk in stream:
        usage = chunk.usage or usage
        if chunk.choices:
            said += chunk.choices[0].delta.content or ""
    assert said == "The documents answer this [1]."
    assert usage is not None and usage.total_tokens > 0


def test_chat_with_passages(client: OpenAI, store: str) -> None:
    model = "passages/" + store.removeprefix("vs_")
    with client.chat.completions.stream(model=model, messages=[{"role": "user", "content": QUESTION}]) as stream:
        final = stream.get_final_completion()
    content = final.choices[0].message.content
    assert content is not None and content.startswith("Everybody has 30 days of leave a year") and "[1]" in content
    unknown = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Who rules Peru?"}])
    assert unknown.choices[0].message.content == "The documents have no passage that answers this."
    assert not unknown.choices[0].message.annotations


def test_responses(client: OpenAI, store: str) -> None:
    made = client.responses.create(
        model="passages",
        input=QUESTION,
        tools=[{"type": "file_search", "vector_store_ids": [store], "max_num_results": 3}],
    )
    assert [item.type for item in made.output] == ["file_search_call", "message"]
    assert made.output_text.startswith("Everybody has 30 days of leave a year")
    assert made.usage is not None and made.usage.total_tokens > 0
    message = made.output[1]
    assert message.type == "message" and message.content[0].type == "output_text"
    cited = message.content[0].annotations[0]
    assert cited.type == "file_citation" and cited.filename == "leave.md"
    assert client.vector_stores.files.retrieve(cited.file_id, vector_store_id=store).status == "completed"

    with client.responses.stream(
        model=AGENT, input=[{"role": "user", "content": f"{QUESTION} Look in the index {store.removeprefix('vs_')}"}]
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    assert "response.output_text.annotation.added" in kinds
    assert final.output_text == "The documents answer this [1]."
    again = client.responses.create(
        model=AGENT,
        input=[{"role": "user", "content": "Hello."}, *final.output, {"role": "user", "content": QUESTION}],  # type: ignore[list-item]
    )
    assert again.status == "completed"


def test_answers_refuse(client: OpenAI, other: OpenAI, store: str) -> None:
    ask: list[tuple[OpenAI, str]] = [(client, "openai/gpt-test"), (client, "agent/nobody"), (other, AGENT)]
    ask.append((other, "passages/" + store.removeprefix("vs_")))
    for who, model in ask:
        with pytest.raises(openai.NotFoundError) as caught:
            who.chat.completions.create(model=model, messages=[{"role": "user", "content": QUESTION}])
        assert caught.value.param == "model"
        with pytest.raises(openai.NotFoundError):
            who.responses.create(model=model, input=QUESTION, stream=True)
    with pytest.raises(openai.NotFoundError):
        other.responses.create(
            model="passages", input=QUESTION, tools=[{"type": "file_search", "vector_store_ids": [store]}]
        )
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model=AGENT, input=QUESTION, previous_response_id="resp_1")
    assert refused.value.param == "previous_response_id"


def test_vector_stores(client: OpenAI, store: str) -> None:
    shown = client.vector_stores.retrieve(store)
    assert (shown.name, shown.metadata, shown.status) == ("Handbook of the house", {"owner": "rosa"}, "completed")
    assert shown.file_counts.completed == shown.file_counts.total == len(HANDBOOK)
    changed = client.vector_stores.update(store, name="The handbook")
    assert (changed.name, changed.metadata) == ("The handbook", {"owner": "rosa"})
    made = [client.vector_stores.create().id for _ in range(3)]
    listed = [s.id for s in client.vector_stores.list(limit=2)]
    assert [i for i in listed if i in made] == made[::-1]
    assert store in listed
    assert [i for i in [s.id for s in client.vector_stores.list(limit=1, order="asc")] if i in made] == made
    for store_id in made:
        assert client.vector_stores.delete(store_id).deleted
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.retrieve(made[0])
    with pytest.raises(openai.BadRequestError) as caught:
        client.vector_stores.create(expires_after={"anchor": "last_active_at", "days": 3})
    assert caught.value.param == "expires_after"


def test_files_of_a_store(client: OpenAI, store: str) -> None:
    listed = list(client.vector_stores.files.list(store, limit=1, order="asc"))
    assert len(listed) == len(HANDBOOK)
    assert len(list(client.vector_stores.files.list(store, filter="completed", limit=3))) == len(HANDBOOK)
    assert list(client.vector_stores.files.list(store, filter="failed")) == []
    text = "".join(part.text or "" for part in client.vector_stores.files.content(listed[0].id, vector_store_id=store))
    assert text == HANDBOOK["leave.md"][1]
    updated = client.vector_stores.files.update(listed[0].id, vector_store_id=store, attributes={"team": "others"})
    assert updated.attributes == {"team": "others"}
    client.vector_stores.files.poll(listed[0].id, vector_store_id=store)
    others = client.vector_stores.search(store, query="leave", filters={"type": "eq", "key": "team", "value": "others"})
    assert [r.filename for r in others] == ["leave.md"]
    client.vector_stores.files.update(
        listed[0].id, vector_store_id=store, attributes={"team": "people", "length": len(text)}
    )
    client.vector_stores.files.poll(listed[0].id, vector_store_id=store)


def test_chunking(client: OpenAI, store: str) -> None:
    words = " ".join(f"word{i}" for i in range(600))
    added = client.vector_stores.files.upload_and_poll(
        vector_store_id=store,
        file=("long.txt", words.encode()),
        chunking_strategy={"type": "static", "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 10}},
        attributes={"long": True},
    )
    assert added.chunking_strategy is not None and added.chunking_strategy.type == "static"
    long: dict[str, object] = {"type": "eq", "key": "long", "value": True}
    found = client.vector_stores.search(store, query="word5", filters=long, max_num_results=50)  # type: ignore[arg-type]
    assert len(list(found)) > 10
    client.vector_stores.files.delete(added.id, vector_store_id=store)
    assert client.files.retrieve(added.id).filename == "long.txt"
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.files.retrieve(added.id, vector_store_id=store)
    client.files.delete(added.id)


def test_batches(client: OpenAI) -> None:
    store = client.vector_stores.create(name="batch")
    files = [(f"{i}.txt", f"text number {i}".encode()) for i in range(20)]
    made = client.vector_stores.file_batches.upload_and_poll(
        vector_store_id=store.id, files=[*files, ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")]
    )
    assert made.status == "completed"
    assert (made.file_counts.completed, made.file_counts.failed, made.file_counts.total) == (20, 1, 21)
    listed = list(client.vector_stores.file_batches.list_files(made.id, vector_store_id=store.id, limit=6))
    assert len(listed) == 21
    (broken,) = [f for f in listed if f.status == "failed"]
    assert broken.last_error is not None and broken.last_error.message
    assert client.vector_stores.file_batches.cancel(made.id, vector_store_id=store.id).status == "completed"
    # So does one that is uploaded and waited for.
    alone = client.vector_stores.files.upload_and_poll(vector_store_id=store.id, file=("a.png", b"\x89PNG\r\n\x1a\n"))
    assert alone.status == "failed" and alone.last_error is not None and alone.last_error.code == "invalid_file"
    assert client.vector_stores.retrieve(store.id).file_counts.failed == 2
    client.files.delete(alone.id)
    # A file that is deleted leaves the store.
    kept, gone = [f.id for f in listed if f.status == "completed"][:2]
    client.files.delete(gone)
    left = [f.id for f in client.vector_stores.files.list(store.id)]
    assert kept in left and gone not in left
    client.vector_stores.delete(store.id)
    for file in listed:
        if file.id != gone:
            client.files.delete(file.id)


def test_documents_of_other_interfaces(client: OpenAI) -> None:
    index = "own" + uuid.uuid4().hex[:8]
    rpc("IndexService", "CreateIndex", KEY, indexName=index)
    uploaded = rpc("DocumentService", "UploadDocument", KEY, indexName=index, uri="docs/a.txt", text="the tide turns")
    document = uploaded["document"]
    assert isinstance(document, dict)
    store = "vs_" + index
    assert store in [s.id for s in client.vector_stores.list()]
    file_id = f"file-{document['documentId']}"
    assert client.vector_stores.files.poll(file_id, vector_store_id=store).status == "completed"
    (found,) = client.vector_stores.search(store, query="tide")
    assert (found.filename, found.file_id) == ("a.txt", file_id)
    client.vector_stores.files.delete(file_id, vector_store_id=store)
    client.vector_stores.delete(store)


def test_other_tenants(client: OpenAI, other: OpenAI, store: str) -> None:
    theirs = client.files.create(file=("secret.txt", b"ours alone"), purpose="assistants")
    added = next(iter(client.vector_stores.files.list(store)))
    batch = client.vector_stores.file_batches.create(store, file_ids=[theirs.id])
    mine = other.vector_stores.create(name="mine")
    assert list(other.files.list()) == []
    assert [s.id for s in other.vector_stores.list()] == [mine.id]
    calls = [
        lambda: other.files.retrieve(theirs.id),
        lambda: other.files.content(theirs.id),
        lambda: other.files.delete(theirs.id),
        lambda: other.files.list(after=theirs.id),
        lambda: other.vector_stores.list(after=store),
        lambda: other.vector_stores.retrieve(store),
        lambda: other.vector_stores.update(store, name="taken"),
        lambda: other.vector_stores.delete(store),
        lambda: other.vector_stores.search(store, query="leave"),
        lambda: other.vector_stores.files.list(store),
        lambda: other.vector_stores.files.create(store, file_id=theirs.id),
        lambda: other.vector_stores.files.create(mine.id, file_id=theirs.id),
        lambda: other.vector_stores.create(file_ids=[theirs.id]),
        lambda: other.vector_stores.files.retrieve(added.id, vector_store_id=store),
        lambda: other.vector_stores.files.retrieve(added.id, vector_store_id=mine.id),
        lambda: other.vector_stores.files.content(added.id, vector_store_id=mine.id),
        lambda: other.vector_stores.files.update(added.id, vector_store_id=mine.id, attributes={"a": 1}),
        lambda: other.vector_stores.files.delete(added.id, vector_store_id=mine.id),
        lambda: other.vector_stores.file_batches.create(mine.id, file_ids=[theirs.id]),
        lambda: other.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store),
        lambda: other.vector_stores.file_batches.retrieve(batch.id, vector_store_id=mine.id),
        lambda: other.vector_stores.file_batches.cancel(batch.id, vector_store_id=mine.id),
        lambda: other.vector_stores.file_batches.list_files(batch.id, vector_store_id=mine.id),
    ]
    for position, call in enumerate(calls):
        with pytest.raises(openai.NotFoundError):
            call()
            pytest.fail(f"call {position} was answered")
    assert client.vector_stores.retrieve(store).name != "taken"
    assert client.files.content(theirs.id).read() == b"ours alone"
    client.files.delete(theirs.id)


def test_scopes(client: OpenAI, store: str) -> None:
    tenant = os.environ["RAGD_TEST_TENANT"]
    made = rpc("TenantService", "CreateApiKey", OPERATOR, tenantId=tenant, scopes=["read"])
    reader = OpenAI(base_url=SERVER + "/v1", api_key=str(made["secret"]), max_retries=0)
    assert reader.vector_stores.retrieve(store).id == store
    for call in [
        lambda: reader.files.create(file=("a.txt", b"x"), purpose="assistants"),
        lambda: reader.vector_stores.create(name="x"),
        lambda: reader.vector_stores.update(store, name="x"),
        lambda: reader.vector_stores.delete(store),
    ]:
        with pytest.raises(openai.PermissionDeniedError):
            call()
    made = rpc(
        "TenantService", "CreateApiKey", OPERATOR, tenantId=tenant, scopes=["write"], mandatoryFilter={"team": "machines"}
    )
    filtered = OpenAI(base_url=SERVER + "/v1", api_key=str(made["secret"]), max_retries=0)
    found = filtered.vector_stores.search(store, query="leave, backup, travel and call")
    assert {r.filename for r in found} == {"backup.md", "oncall.md"}
    assert len(list(filtered.vector_stores.files.list(store))) == 2
    hidden = next(f.id for f in client.vector_stores.files.list(store) if (f.attributes or {}).get("team") == "people")
    for call in [
        lambda: filtered.vector_stores.files.retrieve(hidden, vector_store_id=store),
        lambda: filtered.vector_stores.files.content(hidden, vector_store_id=store),
    ]:
        with pytest.raises(openai.NotFoundError):
            call()
    for call in [
        lambda: filtered.files.list(),
        lambda: filtered.files.retrieve(hidden),
        lambda: filtered.files.content(hidden),
    ]:
        with pytest.raises(openai.PermissionDeniedError):
            call()


def test_errors(client: OpenAI) -> None:
    wrong = OpenAI(base_url=SERVER + "/v1", api_key="ragd_wrong", max_retries=0)
    with pytest.raises(openai.AuthenticationError) as refused:
        wrong.models.list()
    assert refused.value.code == "invalid_api_key"
    with pytest.raises(openai.NotFoundError) as missing:
        client.completions.create(model="x", prompt="hi")
    assert "/v1/chat/completions" in missing.value.message
    for body in ["", "[]", "{", '{"input": 3}', '{"input": "a"} {}', "\xff", '{"input":' + "[" * 5000]:
        answer = httpx.post(SERVER + "/v1/embeddings", content=body, headers={"Authorization": f"Bearer {KEY}"})
        assert answer.status_code == 400, (body, answer.text)
        assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_async() -> None:
    async with AsyncOpenAI(base_url=SERVER + "/v1", api_key=KEY) as client:
        made = await client.embeddings.create(model="builtin/hash-512", input="text")
        assert len(made.data[0].embedding) == 512


def test_rate_limit_is_waited_for() -> None:
    tenant = "t" + uuid.uuid4().hex[:12]
    rpc("TenantService", "CreateTenant", OPERATOR, tenantId=tenant, settings={"requestsPerSecond": 2})
    made = rpc("TenantService", "CreateApiKey", OPERATOR, tenantId=tenant, scopes=["read"])
    hasty = OpenAI(base_url=SERVER + "/v1", api_key=str(made["secret"]), max_retries=0)
    with pytest.raises(openai.RateLimitError) as refused:
        for _ in range(100):
            hasty.models.list()
    assert int(refused.value.response.headers["Retry-After"]) >= 1
    assert refused.value.code == "rate_limit_exceeded"
    assert OpenAI(base_url=SERVER + "/v1", api_key=str(made["secret"]), max_retries=3).models.list()


def test_readme() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (printed,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == printed
