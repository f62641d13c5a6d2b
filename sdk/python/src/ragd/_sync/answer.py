"""Answers of agents while they are written."""

# Generated from ../_async/answer.py by generate.py. Do not edit.

from __future__ import annotations

from collections.abc import Iterator, Callable

from .._errors import RagdError
from ..api import AskAgentEvent, AskAgentResponse


class Answer:
    """The answer of an agent: its events, its text while it is written, or the whole of it."""

    def __init__(self, ask: Callable[[], Iterator[AskAgentEvent]]) -> None:
        self._ask = ask

    def __iter__(self) -> Iterator[AskAgentEvent]:
        """Yields the events: step, toolCall, toolResult, text, and at the end answer. Asks anew each time."""
        for event in self._ask():
            yield event

    def text(self) -> Iterator[str]:
        """Yields the text in pieces, as the model writes it."""
        for event in self._ask():
            if event.get("text"):
                yield event["text"]

    def final(self) -> AskAgentResponse:
        """Returns the whole answer with its citations and its usage."""
        for event in self._ask():
            if "answer" in event:
                return event["answer"]
        raise RagdError("the agent ended without an answer", "internal")
