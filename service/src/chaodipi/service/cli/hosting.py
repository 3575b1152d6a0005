"""A running host for the commands: server started, stopped on the way out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from chaodipi.service.match.table import TableResult, TableSpec

__all__ = ["OpenHost", "open_host", "unless"]

T = TypeVar("T")
_STOP_S = 1.0
"""Seconds for tables in flight when a command ends: none are wanted any more."""


class OpenHost(Protocol):
    """What the commands need of a host."""

    async def play_table(self, spec: TableSpec) -> TableResult: ...

    async def wait_for_bots(self, names: Iterable[str], timeout: float | None = None) -> None: ...

    def online(self) -> dict[str, int]: ...

    def add_bot(self, name: str, token_hash: str) -> None: ...


@contextlib.asynccontextmanager
async def open_host(
    token_hashes: Mapping[str, str], listen: str = "127.0.0.1:0", metrics_port: int | None = None
) -> AsyncIterator[tuple[OpenHost, str]]:
    """
    A host that lets in bots by their name and token's hash, and the address at which they reach it.

    Raises:
        HostError: the port is in use.
    """
    from chaodipi.service.host.host import Host
    from chaodipi.service.metrics import serve_metrics
    from chaodipi.service.rpc.server import start_server

    host = Host(token_hashes)
    stop_metrics = None if metrics_port is None else serve_metrics(host.metrics, metrics_port)[1]
    try:
        server, port = await start_server(host, listen)
        try:
            yield host, f"{listen.rpartition(':')[0]}:{port}"
        finally:
            await host.stop(_STOP_S)
            await server.stop(_STOP_S)
    finally:
        if stop_metrics is not None:
            stop_metrics()


async def unless(guard: Coroutine[Any, Any, None], work: Coroutine[Any, Any, T]) -> T:
    """The result of *work*, or the error of *guard* if that comes first; the other one is cancelled."""
    worker = asyncio.create_task(work)
    watcher = asyncio.create_task(guard)
    both: list[asyncio.Task[Any]] = [worker, watcher]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if worker.done():
            return worker.result()
        watcher.result()
        raise RuntimeError("the guard ended without an error")
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
