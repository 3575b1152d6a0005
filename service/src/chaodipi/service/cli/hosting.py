"""A running host for the commands: server started, stopped on the way out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from chaodipi.service.match.table import TableResult, TableSpec

__all__ = ["OpenHost", "open_host", "unless"]

T = TypeVar("T")


class OpenHost(Protocol):
    """What the commands need of a host."""

    async def play_table(self, spec: TableSpec) -> TableResult: ...

    async def wait_for_bots(self, names: Sequence[str], timeout: float) -> None: ...


@contextlib.asynccontextmanager
async def open_host(tokens: Mapping[str, str], listen: str = "127.0.0.1:0") -> AsyncIterator[tuple[OpenHost, str]]:
    """A host that knows *tokens* (bot → token), and the address at which bots reach it."""
    raise NotImplementedError
    yield


async def unless(guard: Coroutine[Any, Any, None], work: Awaitable[T]) -> T:
    """The result of *work*, or the error of *guard* if that comes first; the other one is cancelled."""
    worker: asyncio.Future[T] = asyncio.ensure_future(work)
    watcher = asyncio.ensure_future(guard)
    try:
        await asyncio.wait({worker, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if worker.done():
            return worker.result()
        watcher.result()
        raise RuntimeError("the guard ended without an error")
    finally:
        for task in (worker, watcher):
            task.cancel()
        await asyncio.gather(worker, watcher, return_exceptions=True)
