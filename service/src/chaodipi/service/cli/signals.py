"""SIGTERM and Ctrl-C for a command that drains: the first asks it to end, the second to end at once."""

import asyncio
import enum
import signal
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

__all__ = ["Ending", "StopSignals"]

_NUMBERS = (signal.SIGTERM, signal.SIGINT)


class Ending(enum.Enum):
    """How work came to its end: by itself, after the first signal, or by the second."""

    OVER = enum.auto()
    DRAINED = enum.auto()
    STOPPED = enum.auto()


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

    async def unless_first(self, work: Coroutine[Any, Any, None]) -> bool:
        """Wait for *work*; False if the first signal came first, which cancels it."""
        return await _unless(self.first, work)

    async def unless_second(self, work: Coroutine[Any, Any, None]) -> bool:
        """Wait for *work*; False if the second signal came first, which cancels it."""
        return await _unless(self._second, work)

    async def drained(
        self, work: Coroutine[Any, Any, None], drain: Callable[[], Coroutine[Any, Any, None]], rest_s: float
    ) -> Ending:
        """
        Wait for *work*. The first signal has *drain* called, after which *work* is given *rest_s* seconds to end.

        What is left of either then, or at the second signal, is cancelled. An error of either is raised.
        """
        worker = asyncio.create_task(work)
        asked = asyncio.create_task(self.first.wait())
        pressed = asyncio.create_task(self._second.wait())
        tasks: list[asyncio.Task[Any]] = [worker, asked, pressed]
        try:
            await asyncio.wait([worker, asked], return_when=asyncio.FIRST_COMPLETED)
            if worker.done():
                worker.result()
                return Ending.OVER
            drainer = asyncio.create_task(drain())
            tasks.append(drainer)
            for task, limit_s in ((drainer, None), (worker, rest_s)):
                await asyncio.wait([task, pressed], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    task.result()
                elif pressed.done():
                    return Ending.STOPPED
            return Ending.DRAINED
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _unless(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    worker = asyncio.create_task(work)
    waiter = asyncio.create_task(event.wait())
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
