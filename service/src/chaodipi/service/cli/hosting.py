"""A running host for the commands: server started, stopped on the way out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from chaodipi.service.host.identity import Grant
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.service.metrics import Metrics, serve_metrics

__all__ = ["Hosted", "OpenHost", "beside", "open_host", "unless"]

T = TypeVar("T")
_STOP_S = 1.0
"""Seconds for tables in flight when a command ends: none are wanted any more."""


class OpenHost(Protocol):
    """What the commands need of a host."""

    async def play_table(self, spec: TableSpec) -> TableResult: ...

    async def wait_for_bots(self, names: Iterable[str], timeout: float | None = None) -> None: ...

    def online(self) -> dict[str, int]: ...

    def set_grants(self, grants: Iterable[Grant]) -> None: ...

    def take_used(self) -> dict[str, float]: ...

    def give_up(self, bot: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Hosted:
    """
    A host that runs.

    Attributes:
        server: ``host:port`` at which bots reach it.
        metrics_url: Where its metrics are shown; "" if nowhere.
        metrics: What it counts.
    """

    host: OpenHost
    server: str
    metrics_url: str
    metrics: Metrics


@contextlib.asynccontextmanager
async def open_host(
    grants: Iterable[Grant],
    listen: str = "127.0.0.1:0",
    metrics_port: int | None = None,
    metrics_host: str = "127.0.0.1",
) -> AsyncIterator[Hosted]:
    """
    A host that lets in bots by their tokens; stopped on the way out.

    Args:
        metrics_port: 0: a free one; None: no metrics.

    Raises:
        HostError: a port is in use.
    """
    from chaodipi.service.host.host import Host
    from chaodipi.service.rpc.server import start_server

    host = Host()
    host.set_grants(grants)
    stop_metrics: Callable[[], None] | None = None
    metrics_url = ""
    if metrics_port is not None:
        found, stop_metrics = serve_metrics(host.metrics, metrics_port, metrics_host)
        metrics_url = f"http://{metrics_host}:{found}/metrics"
    try:
        server, port = await start_server(host, listen)
        try:
            yield Hosted(host, f"{listen.rpartition(':')[0]}:{port}", metrics_url, host.metrics)
        finally:
            await host.stop(_STOP_S)
            await server.stop(_STOP_S)
    finally:
        if stop_metrics is not None:
            stop_metrics()


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """*work* as a task for as long as the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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
