"""Turns at something that answers one question after the other: each caller has one of his there, the others wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from chaodipi.service.host.errors import SessionRefused

__all__ = ["MOST_WAITING", "Turns"]

MOST_WAITING = 64
"""Questions of one caller that may wait, the one being answered included."""


class Turns:
    """
    Whoever asks much waits for himself: between two questions of one caller each other caller has his turn.

    Args:
        most: Questions of one caller that may wait.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._waiting: dict[str, int] = {}
        self._held: dict[str, asyncio.Lock] = {}

    @contextlib.asynccontextmanager
    async def of(self, caller: str) -> AsyncIterator[None]:
        """
        Hold the turn of *caller*, the id of a token, after its questions that came before.

        Raises:
            SessionRefused: RATE_LIMITED, if as many of its questions wait as may; the caller's mistake.
        """
        waiting = self._waiting.get(caller, 0)
        if waiting >= self._most:
            text = f"{waiting} questions of this token wait, at most {self._most}: try again when they are answered"
            raise SessionRefused(8, "RATE_LIMITED", text, {"what": "questions that wait"}, retry_after_s=1.0)
        self._waiting[caller] = waiting + 1
        held = self._held.setdefault(caller, asyncio.Lock())
        try:
            async with held:
                yield
        finally:
            self._waiting[caller] -= 1
            if not self._waiting[caller]:
                del self._waiting[caller], self._held[caller]
