"""The client against a running service."""

import os
from pathlib import Path

import pytest

import ragd
from ragd.api import AsyncTenantService, DocumentService, TenantService

GATE = "# Gate\n\nThe gate opens two hours before high water. The keeper is Mara Holt.\n"
KEEPER = "# Mara Holt\n\nShe keeps the sluice since 1998 and lives in Otley.\n"


def test_documents_are_uploaded_found_read_and_deleted(index: ragd.RagdIndex, tmp_path: Path) -> None:
    seen: list[ragd.UploadProgress] = []
    first = index.upload(GATE, uri="gate.md", metadata={"team": "harbour"}, on_progress=seen.append)
    assert first.document["status"] == "ready" and first.job["status"] == "succeeded"
    assert [seen[0].phase, seen[-1].phase] == ["sending", "done"] and seen[-1].sent_bytes == len(GATE)
    (tmp_path / "keeper.md").write_text(KEEPER)
    second = index.upload(tmp_path / "keeper.md")
    assert second.document["uri"] == "keeper.md"
    with (tmp_path / "keeper.md").open("rb") as file:
        again = index.upload(file, uri="keeper.md")
    assert again.document["documentId"] == second.document["documentId"] and again.document["version"] == 1

    found = index.query("when does the gate open?", top_k=1)
    assert found["sources"][0]["uri"] == "gate.md"
    assert index.query("gate", filter={"team": "nobody"})["sources"] == []
    walked = index.graph("Who keeps the gate, and where does the keeper live?", explain=True)
    assert {source["uri"] for source in walked["sources"]} == {"gate.md", "keeper.md"}
    assert walked["explain"]["nodes"]

    assert [document["uri"] for document in index.documents(order_by="uri desc")] == ["keeper.md", "gate.md"]
    assert index.read(uri="gate.md")["text"] == GATE
    assert b"".join(index.download(uri="keeper.md")) == KEEPER.encode()
    assert [chunk["ordinal"] for chunk in index.chunks(first.document["documentId"])] == [0]
    assert index.delete(uris=["gate.md"])["deletedCount"] == 1
    assert index.describe()["documentCount"] == 1


def test_several_indexes_and_questions_are_asked(client: ragd.Ragd, index: ragd.RagdIndex) -> None:
    index.upload(GATE, uri="gate.md")
    found = client.query("when does the gate open?", {"indexNames": [index.name[:-1] + "*"]})
    assert found["sources"][0]["indexName"] == index.name and found["queryId"]
    walked = client.graph("when does the gate open?", {"indexNames": [index.name[:-1] + "*"]})
    assert walked["sources"][0]["indexName"] == index.name
    like = index.query(like={"positive": [{"text": "a gate that opens"}], "exclude": [{"uri": "gate.md"}]})
    assert like["sources"] == []
    assert index.query("gate -opens", syntax="web")["sources"] == []
    answers = client.batch([{"indexName": index.name, "queryText": "gate"}, {"indexName": "none", "queryText": "gate"}])
    assert answers[0]["answer"]["sources"][0]["uri"] == "gate.md" and answers[1]["error"]["code"] == "not_found"


def test_answers_and_texts_keep_to_a_budget(index: ragd.RagdIndex) -> None:
    index.upload("".join(f"On day {day} the gate opens at dawn. " for day in range(500)), uri="long.md")
    found = index.query("when does the gate open?", max_tokens=600)
    assert 0 < found["budget"]["usedTokens"] <= 600 and found["budget"]["omittedTokens"] > 0
    walked = index.graph("when does the gate open?", max_tokens=600, encoding_name="o200k_base")
    assert walked["budget"]["encodingName"] == "o200k_base" and walked["sources"][-1]["document"].endswith(".")
    part = index.read(uri="long.md", max_tokens=600)
    assert part["text"].endswith("dawn.") and part["budget"]["usedTokens"] <= 600
    assert index.read(uri="long.md", start_byte=part["endByte"], max_tokens=600)["text"].startswith(" On day")


def test_sources_show_their_section_and_are_judged(index: ragd.RagdIndex) -> None:
    index.upload(GATE, uri="gate.md")
    found = index.query("who is the keeper?", expand="section")
    source = found["sources"][0]
    assert source["hits"][0]["id"] == source["id"] and "high water" in source["document"]
    recorded = index.feedback(found["queryId"], source["id"], True)
    assert recorded["setName"] == f"feedback-{index.name}" and recorded["questionId"]
    index.feedback(found["queryId"], source["id"], None)
    with pytest.raises(ragd.RagdError) as error:
        index.feedback("nothing", source["id"], False)
    assert error.value.field_violations[0].field == "queryId"


def test_a_folder_is_uploaded_under_its_paths(index: ragd.RagdIndex, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("secret")
    (tmp_path / "a/gate.md").write_text(GATE)
    (tmp_path / "keeper.md").write_text(KEEPER)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    index.upload_folder(tmp_path, prefix="notes/")  # as a statement
    assert [document["uri"] for document in index.documents(status="ready")] == ["notes/a/gate.md", "notes/keeper.md"]
    results = index.upload_folder(tmp_path, prefix="notes/")
    assert [type(result) for result in index.iter_upload_folder(tmp_path, prefix="notes/")] == [type(result) for result in results]
    uploaded = [result.document["uri"] for result in results if isinstance(result, ragd.UploadResult)]
    assert uploaded == ["notes/a/gate.md", "notes/keeper.md"]
    errors = [result for result in results if isinstance(result, ragd.RagdError)]
    assert len(errors) == 1 and "PDF" in errors[0].message


def test_a_large_document_is_sent_in_pieces_and_its_job_cancelled(client: ragd.Ragd, index: ragd.RagdIndex, tmp_path: Path) -> None:
    line = "The tide turns twice a day, and the keeper notes it in the book.\n"
    path = tmp_path / "book.txt"
    path.write_text(line * ((9 << 20) // len(line)))
    seen: list[ragd.UploadProgress] = []
    result = index.upload(path, chunking={"strategy": "recursive", "maxSize": 20_000, "overlap": 0}, wait=False, on_progress=seen.append)
    assert result.document["byteSize"] == path.stat().st_size
    assert seen[-1].sent_bytes == path.stat().st_size and len({progress.sent_bytes for progress in seen}) > 5
    client.rpc(DocumentService).cancel_job({"jobId": result.job["jobId"]})
    with pytest.raises(ragd.JobError) as cancelled:
        index.wait(result.job)
    assert cancelled.value.job["status"] == "cancelled"


def test_an_answer_is_streamed(client: ragd.Ragd, index: ragd.RagdIndex) -> None:
    index.upload(GATE, uri="gate.md")
    answer = client.ask(os.environ["RAGD_TEST_AGENT"], f"When does the gate open? See the index {index.name}.")
    kinds = [next(iter(event)) for event in answer]
    assert kinds[0] == "step" and "toolCall" in kinds and kinds[-1] == "answer"
    assert "".join(answer.text()).strip()
    final = answer.final()
    assert final["citations"][0]["uri"] == "gate.md" and final["usage"]["toolCalls"] == 1


def test_errors_are_typed(client: ragd.Ragd, index: ragd.RagdIndex) -> None:
    with pytest.raises(ragd.RagdError) as error:
        client.index("nothing").query("a")
    assert error.value.code == "not_found" and error.value.request_id
    with pytest.raises(ragd.RagdError) as error:
        index.query("a", top_k=5000)
    assert error.value.code == "invalid_argument"
    assert error.value.field_violations[0].field == "topK"
    with pytest.raises(ragd.RagdError) as error:
        index.upload(b"%PDF-1.7 nothing", uri="broken.pdf")
    assert error.value.field_violations[0].field == "content"
    with pytest.raises(ragd.RagdError) as error:
        index.upload(Path("/nowhere/a.md"))
    assert error.value.field_violations[0].field == "source"
    with pytest.raises(ragd.RagdError) as error:
        ragd.Ragd("localhost:8484")
    assert error.value.field_violations[0].field == "url"
    with pytest.raises(ragd.RagdError) as error:
        ragd.Ragd("http://127.0.0.1:9", "key", retry=ragd.Retry(max_retries=1, initial_delay=0.01)).index("a").query("b")
    assert error.value.code == "unavailable"
    with pytest.raises(ragd.RagdError) as error:
        ragd.Ragd(os.environ["RAGD_SERVER"], "ragd_wrong").index("a").query("b")
    assert error.value.code == "unauthenticated" and "ragd_wrong" not in str(error.value)


def test_the_request_context_bounds_every_call(index: ragd.RagdIndex) -> None:
    index.upload(GATE, uri="gate.md", metadata={"team": "harbour"})
    index.upload(KEEPER, uri="keeper.md", metadata={"team": "sluice"})
    with ragd.Ragd(os.environ["RAGD_SERVER"], os.environ["RAGD_API_KEY"], context={"filter": {"team": "sluice"}}) as bound:
        assert [source["uri"] for source in bound.index(index.name).query("gate keeper")["sources"]] == ["keeper.md"]
        assert [document["uri"] for document in bound.index(index.name).documents()] == ["keeper.md"]


def test_all_services_can_be_called(client: ragd.Ragd) -> None:
    assert client.rpc(TenantService).who_am_i()["tenantId"] == os.environ["RAGD_TEST_TENANT"]
    with ragd.Ragd(os.environ["RAGD_SERVER"], os.environ["RAGD_OPERATOR_KEY"], tenant=os.environ["RAGD_TEST_TENANT"]) as operator:
        tenants = operator.rpc(TenantService).list_tenants()["tenants"]
        assert os.environ["RAGD_TEST_TENANT"] in [tenant["tenantId"] for tenant in tenants]
    assert len(client.embed(["a", "b"])[1]) == 512
    assert "vector_query" in [tool["toolName"] for tool in client.tools()]
    assert client.call_tool("list_indexes")["structuredContent"]


async def test_the_same_without_waiting(aclient: ragd.AsyncRagd, aindex: ragd.AsyncRagdIndex, tmp_path: Path) -> None:
    (tmp_path / "keeper.md").write_text(KEEPER)
    uploaded = await aindex.upload(GATE, uri="gate.md")
    assert uploaded.document["status"] == "ready"
    results = await aindex.upload_folder(tmp_path)
    assert len([result async for result in aindex.iter_upload_folder(tmp_path)]) == len(results) == 1
    assert isinstance(results[0], ragd.UploadResult)
    assert (await aindex.query("gate", top_k=1))["sources"][0]["uri"] == "gate.md"
    assert len((await aindex.graph("gate"))["sources"]) == 2
    assert [document["uri"] async for document in aindex.documents()] == ["gate.md", "keeper.md"]
    answer = aclient.ask(os.environ["RAGD_TEST_AGENT"], f"When does the gate open? See the index {aindex.name}.")
    assert "".join([piece async for piece in answer.text()])
    assert (await answer.final())["citations"]
    assert (await aclient.rpc(AsyncTenantService).who_am_i())["tenantId"] == os.environ["RAGD_TEST_TENANT"]
