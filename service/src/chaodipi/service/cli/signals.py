"""SIGTERM and Ctrl-C for a command that drains: the first asks it to end, the second to end at once."""

import asyncio
import signal
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

__all__ = ["StopSignals"]

_NUMBERS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """
    Takes both signals for as long as the block runs; a context manager.

    Attributes:
        first: Set by the first signal.
    """

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self._second = asyncio.Event()
        self._before: dict[signal.Signals, Any] = {}

    async def __aenter__(self) -> "StopSignals":
        loop = asyncio.get_running_loop()
        for number in _NUMBERS:
            self._before[number] = signal.getsignal(number)
            loop.add_signal_handler(number, self._on_signal)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, handler)

    def _on_signal(self) -> None:
        (self._second if self.first.is_set() else self.first).set()

    async def unless_second(self, work: Coroutine[Any, Any, None]) -> bool:
        """Wait for *work*; False if the second signal came first, which cancels it."""
        worker = asyncio.create_task(work)
        waiter = asyncio.create_task(self._second.wait())
        try:
            await asyncio.wait([worker, waiter], return_when=asyncio.FIRST_COMPLETED)
            if not worker.done():
                return False
            worker.result()
            return True
        finally:
            worker.cancel()
            waiter.cancel()
            await asyncio.gather(worker, waiter, return_exceptions=True)
