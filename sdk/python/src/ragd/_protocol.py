"""The Connect protocol with JSON: what does not depend on whether calls wait or are awaited."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from ._errors import RagdError, error_of, invalid

#: Bytes of a piece of content in a stream.
PIECE = 1 << 20

_END = 0b10
_COMPRESSED = 0b1


@dataclass(frozen=True)
class Retry:
    """How failed calls are repeated."""

    #: How often a call is repeated at most; 0 never repeats.
    max_retries: int = 4
    #: Seconds of the first pause; each further one is twice as long.
    initial_delay: float = 0.25
    #: Seconds of the longest pause. A call is not repeated if the service asks for a longer one.
    max_delay: float = 20

    def pause(self, attempt: int, error: RagdError) -> float | None:
        """Returns the seconds to wait before a call is repeated, None if it should not be."""
        asked = error.retry_after or 0
        passes = error.code in ("unavailable", "aborted") or (error.code == "resource_exhausted" and error.retry_after is not None)
        if attempt > self.max_retries or asked > self.max_delay or not passes:
            return None
        backoff: float = min(self.max_delay, self.initial_delay * 2 ** (attempt - 1))
        return asked + backoff * random.uniform(0.5, 1)  # callers that were refused together must not return together


#: Calls that change something and may be made twice all the same, because a second one finds the
#: work done. Others are repeated if the API says that they change nothing.
_repeatable = {
    "ragd.v1.DocumentService/DeleteDocuments",
    "ragd.v1.DocumentService/SyncSource",
    "ragd.v1.DocumentService/CancelJob",
    "ragd.v1.EvaluateService/RecordFeedback",
    "ragd.v1.IndexService/CreateIndex",
    "ragd.v1.QueryService/ListTopics",
    "ragd.v1.VectorService/Update",
    "ragd.v1.VectorService/Delete",
}


def may_repeat(path: str, request: Mapping[str, Any], idempotent: bool) -> bool:
    """Reports whether a second call with the same request does no harm, also without a key."""
    if path == "ragd.v1.DocumentService/UploadDocument":
        return bool(request.get("uri"))
    if path == "ragd.v1.VectorService/Upsert":
        return all(entry.get("id") for entry in request.get("entries", []))
    return idempotent or path in _repeatable


@dataclass(frozen=True)
class Settings:
    """What a client sends with every call."""

    url: str
    headers: Mapping[str, str]
    context: Mapping[str, Any]
    timeout: float | None
    retry: Retry

    @staticmethod
    def of(
        url: str,
        api_key: str | None,
        tenant: str | None,
        context: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
        retry: Retry | None,
    ) -> Settings:
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, TypeError) as error:
            raise invalid("url", f"is not an address: {error}") from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise invalid("url", "must be an address such as http://127.0.0.1:8484 or https://ragd.example.com")
        sent = dict(headers or {})
        if api_key:
            if not api_key.isascii() or not api_key.isprintable() or " " in api_key:
                raise invalid("api_key", "has characters that no key has; is there a line break at its end?")
            sent["Authorization"] = f"Bearer {api_key}"
        if tenant:
            sent["Ragd-Tenant"] = tenant
        return Settings(str(parsed).rstrip("/"), sent, dict(context or {}), timeout, retry or Retry())

    def request(
        self, path: str, content_type: str, timeout: float | None, context: Mapping[str, Any] | None
    ) -> tuple[str, dict[str, str], httpx.Timeout]:
        """Returns the address, the headers and the time limits of a call."""
        headers = {**self.headers, "Content-Type": content_type, "Connect-Protocol-Version": "1"}
        merged = {**self.context, **(context or {})}
        if merged:
            headers["Ragd-Context"] = json.dumps(merged, separators=(",", ":"))
        seconds = timeout if timeout is not None else self.timeout
        if seconds is not None:
            headers["Connect-Timeout-Ms"] = str(max(1, int(seconds * 1000)))
        return f"{self.url}/{path}", headers, httpx.Timeout(seconds + 5 if seconds is not None else None, connect=10)


#: The header with the key by which the service makes a call once.
IDEMPOTENCY_KEY = "Idempotency-Key"

UNARY = "application/json"
STREAM = "application/connect+json"


def encode(message: Mapping[str, Any]) -> bytes:
    """Returns a message as JSON."""
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def envelope(message: Mapping[str, Any]) -> bytes:
    """Returns a message of a stream."""
    data = encode(message)
    return struct.pack(">BI", 0, len(data)) + data


def unary_answer(response: httpx.Response) -> dict[str, Any]:
    """Returns the message of an answer that was read as a whole. Errors: RagdError."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.status_code != 200 or not isinstance(body, dict):
        raise error_of(body, response.status_code, response.headers.get("Retry-After"), response.headers.get("X-Request-Id"))
    return body


class Frames:
    """Takes the bytes of a stream of messages apart."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._bytes = bytearray()
        self._ended = False

    def feed(self, piece: bytes) -> Iterable[dict[str, Any]]:
        """Yields the messages that a piece completes. Errors: RagdError, also that of the stream."""
        self._bytes += piece
        while len(self._bytes) >= 5:
            flags, size = struct.unpack_from(">BI", self._bytes)
            if len(self._bytes) < 5 + size:
                return
            data = bytes(self._bytes[5 : 5 + size])
            del self._bytes[: 5 + size]
            if flags & _COMPRESSED:
                raise RagdError("the service compressed a message of a stream, which was not asked for", "internal")
            message = json.loads(data or b"{}")
            if not flags & _END:
                yield message
                continue
            self._ended = True
            if message.get("error"):
                metadata = {name.lower(): values for name, values in (message.get("metadata") or {}).items()}
                retry_after = (metadata.get("retry-after") or [self._response.headers.get("Retry-After")])[0]
                raise error_of(message["error"], 200, retry_after, self._response.headers.get("X-Request-Id"))

    def close(self) -> None:
        """Fails if the stream has no end. Errors: RagdError."""
        if not self._ended:
            raise RagdError("the connection broke off before the end of the stream", "unavailable")


def unreachable(error: httpx.HTTPError) -> RagdError:
    """Returns the error for a call that got no answer."""
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        return RagdError("the service did not answer in time", "deadline_exceeded")
    return RagdError(f"the service cannot be reached: {error or type(error).__name__}", "unavailable")
