"""What is sent and how failures are repeated, against servers of the test."""

import json
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import ragd
from ragd.api import IndexService

Answer = tuple[int, dict[str, str], bytes]


class Server:
    """A server that answers by a list, the last again and again, and keeps what it was sent."""

    def __init__(self, answers: list[Answer]) -> None:
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, headers, body = answers[min(len(outer.paths), len(answers) - 1)]
                outer.paths.append(self.path)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*answers: Answer) -> Server:
        servers.append(Server(list(answers)))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def refusal(code: str, **more: object) -> bytes:
    return json.dumps({"code": code, "message": "not now", **more}).encode()


FOUND: Answer = (200, {}, b'{"sources": [], "relevantContext": "", "warnings": []}')
QUICK = ragd.Retry(initial_delay=0.001)


def test_calls_that_change_nothing_are_repeated(serve: Callable[..., Server]) -> None:
    server = serve((503, {}, refusal("unavailable")), (429, {"Retry-After": "0.01"}, refusal("resource_exhausted")), FOUND)
    with ragd.Ragd(server.url, "key", retry=QUICK) as client:
        assert client.index("docs").query("a")["sources"] == []
    assert len(server.paths) == 3


@pytest.mark.parametrize(
    "answer",
    [
        (429, {}, refusal("resource_exhausted")),  # a quota does not pass by itself
        (429, {"Retry-After": "3600"}, refusal("resource_exhausted")),
        (400, {}, refusal("invalid_argument")),
        (500, {}, refusal("internal")),
    ],
)
def test_errors_that_do_not_pass_are_not_repeated(serve: Callable[..., Server], answer: Answer) -> None:
    server = serve(answer)
    with ragd.Ragd(server.url, "key", retry=QUICK) as client, pytest.raises(ragd.RagdError):
        client.index("docs").query("a")
    assert len(server.paths) == 1


def test_calls_that_would_happen_twice_have_a_key(serve: Callable[..., Server]) -> None:
    server = serve((503, {}, refusal("unavailable")))
    with ragd.Ragd(server.url, "key", retry=QUICK) as client:
        for uri in (None, "a.md"):
            with pytest.raises(ragd.RagdError):
                client.index("docs").upload("text", uri=uri, wait=False)
        assert len(server.paths) == 5 + 5
        keys = [headers.get("idempotency-key") for headers in server.headers]
        assert keys[0] and len(set(keys[:5])) == 1 and set(keys[5:]) == {None}
        with pytest.raises(ragd.RagdError):
            client.rpc(IndexService).delete_index({"indexName": "docs"}, idempotency_key="mine")
        assert server.headers[-1]["idempotency-key"] == "mine"
    with ragd.Ragd(server.url, "key", retry=ragd.Retry(max_retries=0)) as client, pytest.raises(ragd.RagdError):
        client.index("docs").upload("text", wait=False)
    assert "idempotency-key" not in server.headers[-1]


def test_headers(serve: Callable[..., Server]) -> None:
    server = serve(FOUND)
    with ragd.Ragd(server.url + "/", "key", tenant="acme", context={"topK": 3}, headers={"X-Team": "a"}, timeout=7) as client:
        client.index("docs").query("a", context={"filter": {"team": "b"}})
    sent = server.headers[0]
    assert sent["authorization"] == "Bearer key" and sent["ragd-tenant"] == "acme" and sent["x-team"] == "a"
    assert json.loads(sent["ragd-context"]) == {"topK": 3, "filter": {"team": "b"}}
    assert sent["connect-timeout-ms"] == "7000"
    assert server.paths == ["/ragd.v1.QueryService/VectorQuery"]


def test_details_of_errors(serve: Callable[..., Server]) -> None:
    violation = {"type": "google.rpc.BadRequest", "value": "", "debug": {"fieldViolations": [{"field": "topK", "description": "too large"}]}}
    server = serve((400, {"X-Request-Id": "r-1"}, refusal("invalid_argument", details=[violation])))
    with ragd.Ragd(server.url) as client, pytest.raises(ragd.RagdError) as error:
        client.index("docs").query("a")
    assert error.value.field_violations == [ragd.FieldViolation("topK", "too large")]
    assert error.value.request_id == "r-1" and str(error.value) == "invalid_argument: not now"


def frame(flags: int, message: object) -> bytes:
    data = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(data)) + data


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (frame(0, {"text": "a"}), "unavailable"),
        (frame(0, {"text": "a"}) + frame(2, {"error": {"code": "aborted", "message": "gone"}}), "aborted"),
        (frame(1, {"text": "a"}), "internal"),
        (frame(2, {}), "internal"),
    ],
)
def test_streams_that_end_badly(serve: Callable[..., Server], body: bytes, code: str) -> None:
    server = serve((200, {"Content-Type": "application/connect+json"}, body))
    with ragd.Ragd(server.url) as client, pytest.raises(ragd.RagdError) as error:
        client.ask("helper", "a").final()
    assert error.value.code == code


ANSWERED = b"".join(
    [
        frame(0, {"text": "At "}),
        frame(0, {"text": "high water"}),
        frame(0, {"answer": {"text": "At high water", "citations": []}}),
        frame(2, {}),
    ]
)


def test_an_agent_is_asked_once_however_its_answer_is_read(serve: Callable[..., Server]) -> None:
    server = serve((200, {"Content-Type": "application/connect+json"}, ANSWERED))
    with ragd.Ragd(server.url) as client:
        answer = client.ask("helper", "when?")
        assert server.paths == []
        assert next(iter(answer.text())) == "At "
        assert "".join(answer.text()) == answer.final()["text"] == "At high water"
        assert len(list(answer)) == 3
    assert len(server.paths) == 1


def test_an_answer_that_is_not_read_is_warned_about() -> None:
    with ragd.Ragd("http://127.0.0.1:1") as client, pytest.warns(RuntimeWarning, match="never asked"):
        client.ask("helper", "when?")


def test_a_page_of_a_proxy_is_an_error(serve: Callable[..., Server]) -> None:
    server = serve((502, {"Content-Type": "text/html"}, b"<html>Bad gateway</html>"))
    with ragd.Ragd(server.url, retry=ragd.Retry(max_retries=0)) as client, pytest.raises(ragd.RagdError) as error:
        client.index("docs").query("a")
    assert error.value.code == "unavailable"


def test_a_key_with_a_line_break_is_refused() -> None:
    with pytest.raises(ragd.RagdError) as error:
        ragd.Ragd("http://127.0.0.1:1", "secret-key\n")
    assert "secret-key" not in str(error.value)
