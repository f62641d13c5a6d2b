"""Answers of agents while they are written."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable

from .._errors import RagdError
from ..api import AskAgentEvent, AskAgentResponse


class AsyncAnswer:
    """The answer of an agent: its events, its text while it is written, or the whole of it.

    The question is sent when the first of these is read, and once only: what was read is kept, so that the
    text may be read first and the citations after it. After an error, reading again asks again. An answer
    that is never read was never asked for, of which a RuntimeWarning tells.
    """

    def __init__(self, ask: Callable[[], AsyncIterator[AskAgentEvent]]) -> None:
        self._ask = ask
        self._coming: AsyncIterator[AskAgentEvent] | None = None
        self._read: list[AskAgentEvent] = []
        self._ended = False

    def __del__(self) -> None:
        if self._coming is None:
            warnings.warn("the agent was never asked, because its answer was not read: call final()", RuntimeWarning, stacklevel=2)

    async def __aiter__(self) -> AsyncIterator[AskAgentEvent]:
        """Yields the events: step, toolCall, toolResult, text, and at the end answer."""
        position = 0
        while True:
            while position < len(self._read):
                yield self._read[position]
                position += 1
            if self._ended:
                return
            if self._coming is None:
                self._coming = self._ask()
            try:
                self._read.append(await anext(self._coming))
            except StopAsyncIteration:
                self._ended = True
            except BaseException:
                self._coming, self._read = self._ask(), []
                raise

    async def text(self) -> AsyncIterator[str]:
        """Yields the text in pieces, as the model writes it."""
        async for event in self:
            if event.get("text"):
                yield event["text"]

    async def final(self) -> AskAgentResponse:
        """Returns the whole answer with its citations and its usage."""
        async for event in self:
            if "answer" in event:
                return event["answer"]
        raise RagdError("the agent ended without an answer", "internal")
