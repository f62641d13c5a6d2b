"""Calls of the API over HTTP."""

# Generated from ../_async/transport.py by generate.py. Do not edit.

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx

from .._errors import RagdError
from .._protocol import IDEMPOTENCY_KEY, STREAM, UNARY, Frames, Settings, encode, envelope, may_repeat, unary_answer, unreachable


class Transport:
    """Calls the API with a client's settings. Calls that failed are repeated where that does no harm."""

    def __init__(self, settings: Settings, http: httpx.Client) -> None:
        self.settings = settings
        self._http = http

    def unary(
        self,
        path: str,
        request: Mapping[str, Any],
        *,
        timeout: float | None = None,
        context: Mapping[str, Any] | None = None,
        idempotent: bool = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Sends a message and returns the answer. Errors: RagdError."""
        url, headers, limits = self.settings.request(path, UNARY, timeout, context)
        body = encode(request)
        if idempotency_key is None and self.settings.retry.max_retries > 0 and not may_repeat(path, request, idempotent):
            idempotency_key = str(uuid.uuid4())
        if idempotency_key is not None:
            headers[IDEMPOTENCY_KEY] = idempotency_key
        attempt = 0
        while True:
            attempt += 1
            try:
                try:
                    return unary_answer(self._http.post(url, content=body, headers=headers, timeout=limits))
                except httpx.HTTPError as error:
                    raise unreachable(error) from error
            except RagdError as error:
                stale = error.code == "aborted" and error.retry_after is None and bool(request.get("etag"))  # waiting does not help
                pause = None if stale else self.settings.retry.pause(attempt, error)
                if pause is None:
                    raise
            time.sleep(pause)

    def server_stream(
        self, path: str, request: Mapping[str, Any], *, timeout: float | None = None, context: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Sends a message and yields the answers. Errors: RagdError."""
        url, headers, limits = self.settings.request(path, STREAM, timeout, context)
        limits = httpx.Timeout(limits.read if timeout is not None else None, connect=limits.connect)
        try:
            with self._http.stream("POST", url, content=envelope(request), headers=headers, timeout=limits) as response:
                if response.status_code != 200:
                    response.read()
                    unary_answer(response)
                frames = Frames(response)
                for piece in response.iter_bytes():
                    for message in frames.feed(piece):
                        yield message
                frames.close()
        except httpx.HTTPError as error:
            raise unreachable(error) from error

    def client_stream(
        self,
        path: str,
        requests: Iterable[Mapping[str, Any]],
        *,
        timeout: float | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Sends messages and returns the answer. Errors: RagdError."""
        url, headers, limits = self.settings.request(path, STREAM, timeout, context)
        answers: list[dict[str, Any]] = []

        def body() -> Iterator[bytes]:
            for request in requests:
                yield envelope(request)

        try:
            with self._http.stream("POST", url, content=body(), headers=headers, timeout=limits) as response:
                if response.status_code != 200:
                    response.read()
                    unary_answer(response)
                frames = Frames(response)
                for piece in response.iter_bytes():
                    answers.extend(frames.feed(piece))
                frames.close()
        except httpx.HTTPError as error:
            raise unreachable(error) from error
        if len(answers) != 1:
            raise RagdError(f"the service sent {len(answers)} answers in place of one", "internal")
        return answers[0]
