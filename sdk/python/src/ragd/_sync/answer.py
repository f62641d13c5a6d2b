"""Answers of agents while they are written."""

# Generated from ../_async/answer.py by generate.py. Do not edit.

from __future__ import annotations

import warnings
from collections.abc import Iterator, Callable

from .._errors import RagdError
from ..api import AskAgentEvent, AskAgentResponse


class Answer:
    """The answer of an agent: its events, its text while it is written, or the whole of it.

    The question is sent when the first of these is read, and once only: what was read is kept, so that the
    text may be read first and the citations after it. After an error, reading again asks again. An answer
    that is never read was never asked for, of which a RuntimeWarning tells.
    """

    def __init__(self, ask: Callable[[], Iterator[AskAgentEvent]]) -> None:
        self._ask = ask
        self._coming: Iterator[AskAgentEvent] | None = None
        self._read: list[AskAgentEvent] = []
        self._ended = False

    def __del__(self) -> None:
        if self._coming is None:
            warnings.warn("the agent was never asked, because its answer was not read: call final()", RuntimeWarning, stacklevel=2)

    def __iter__(self) -> Iterator[AskAgentEvent]:
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
                self._read.append(next(self._coming))
            except StopIteration:
                self._ended = True
            except BaseException:
                self._coming, self._read = self._ask(), []
                raise

    def text(self) -> Iterator[str]:
        """Yields the text in pieces, as the model writes it."""
        for event in self:
            if event.get("text"):
                yield event["text"]

    def final(self) -> AskAgentResponse:
        """Returns the whole answer with its citations and its usage."""
        for event in self:
            if "answer" in event:
                return event["answer"]
        raise RagdError("the agent ended without an answer", "internal")
