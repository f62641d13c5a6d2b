"""Answers of agents while they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from .._errors import RagdError
from ..api import AskAgentEvent, AskAgentResponse


class AsyncAnswer:
    """The answer of an agent: its events, its text while it is written, or the whole of it."""

    def __init__(self, ask: Callable[[], AsyncIterator[AskAgentEvent]]) -> None:
        self._ask = ask

    async def __aiter__(self) -> AsyncIterator[AskAgentEvent]:
        """Yields the events: step, toolCall, toolResult, text, and at the end answer. Asks anew each time."""
        async for event in self._ask():
            yield event

    async def text(self) -> AsyncIterator[str]:
        """Yields the text in pieces, as the model writes it."""
        async for event in self._ask():
            if event.get("text"):
                yield event["text"]

    async def final(self) -> AskAgentResponse:
        """Returns the whole answer with its citations and its usage."""
        async for event in self._ask():
            if "answer" in event:
                return event["answer"]
        raise RagdError("the agent ended without an answer", "internal")
