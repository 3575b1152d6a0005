"""A running host for the commands: server started, stopped on the way out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from chaodipi.service.config import ServerConfig
from chaodipi.service.host.errors import HostError
from chaodipi.service.host.identity import Grant
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.service.metrics import Metrics, serve_metrics

if TYPE_CHECKING:
    from chaodipi.service.rpc.tls import TlsFiles
    from chaodipi.service.store.archive import Archive

__all__ = ["Hosted", "OpenHost", "beside", "failing_with", "open_host", "tls_files", "unless"]

T = TypeVar("T")
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""What this machine can be reached at where a server listens at all of its addresses."""
_STOP_S = 1.0
"""Seconds for tables in flight when a command ends: none are wanted any more."""


class OpenHost(Protocol):
    """What the commands need of a host."""

    async def play_table(self, spec: TableSpec) -> TableResult: ...

    async def wait_for_bots(self, names: Iterable[str], timeout: float | None = None) -> None: ...

    async def collect_nonces(
        self, bots: Mapping[str, str], seed_commitment: bytes, within_ms: int
    ) -> dict[str, bytes]: ...

    def online(self) -> dict[str, int]: ...

    async def drain(self, timeout_s: float) -> None: ...

    async def stop(self, timeout_s: float = ...) -> None: ...

    @property
    def draining(self) -> bool: ...

    @property
    def tables_in_flight(self) -> int: ...

    def set_grants(self, grants: Iterable[Grant]) -> None: ...

    def take_used(self) -> dict[str, float]: ...

    def give_up(self, bot: str) -> None: ...

    def has_started(self, table_id: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Hosted:
    """
    A host that runs.

    Attributes:
        server: ``host:port`` at which bots reach it.
        local: ``host:port`` at which bots that were launched here reach it, in the clear.
        security: How far what goes to *server* is safe, in one line.
        metrics_url: Where its metrics are shown; "" if nowhere.
        metrics: What it counts.
    """

    host: OpenHost
    server: str
    local: str
    security: str
    metrics_url: str
    metrics: Metrics


@contextlib.asynccontextmanager
async def open_host(
    grants: Iterable[Grant],
    config: ServerConfig = ServerConfig(listen="127.0.0.1:0"),  # noqa: B008
    *,
    metrics_port: int | None = None,
    launching: bool = False,
    archive: "Archive | None" = None,
) -> AsyncIterator[Hosted]:
    """
    A host that lets in bots by their tokens; stopped on the way out.

    Args:
        config: Where to listen, TLS, reflection, quotas and where metrics are shown; the rest is not looked at.
        metrics_port: 0: a free one; None: no metrics.
        launching: Bots will be launched here. With TLS they get a port of their own on this machine, in the clear, so
            that they need no certificate.
        archive: What matches, leagues and owners of bots are read from.

    Raises:
        HostError: a port is in use, TLS cannot be had, or is missing where other machines can connect.
    """
    from chaodipi.service.host.host import Host
    from chaodipi.service.host.quota import Quotas
    from chaodipi.service.rpc.server import Listener, check_address, serve_at
    from chaodipi.service.rpc.tls import server_credentials

    listen, tls = config.listen, tls_files(config)
    only_here = check_address(listen)
    if tls is None and not only_here and not config.insecure:
        raise HostError(
            f"{listen} can be reached from other machines, and without TLS tokens can be read on the way: "
            "set tls_cert and tls_key, or insecure = true"
        )
    listeners = [Listener(listen, None if tls is None else server_credentials(tls))]
    if tls is not None and launching:
        listeners.append(Listener("127.0.0.1:0"))
    metrics_host = config.metrics_host
    host = Host(quotas=Quotas(**config.quotas))
    host.set_grants(grants)
    stop_metrics: Callable[[], None] | None = None
    metrics_url = ""
    if metrics_port is not None:
        found, stop_metrics = serve_metrics(host.metrics, metrics_port, metrics_host)
        metrics_url = f"http://{metrics_host}:{found}/metrics"
    try:
        reflect = only_here if config.reflection is None else config.reflection
        server, ports = await serve_at(host, listeners, reflect=reflect, archive=archive)
        name = listen.rpartition(":")[0]
        local = f"{_ANYWHERE.get(name, name)}:{ports[0]}" if len(ports) == 1 else f"127.0.0.1:{ports[1]}"
        try:
            yield Hosted(host, f"{name}:{ports[0]}", local, _security(tls, only_here), metrics_url, host.metrics)
        finally:
            await host.stop(_STOP_S)
            await server.stop(_STOP_S)
    finally:
        if stop_metrics is not None:
            stop_metrics()


def tls_files(config: ServerConfig) -> "TlsFiles | None":
    """The files that *config* names; None without TLS."""
    from chaodipi.service.rpc.tls import TlsFiles

    if not config.tls_cert:
        return None
    client_ca = Path(config.tls_client_ca) if config.tls_client_ca else None
    return TlsFiles(Path(config.tls_cert), Path(config.tls_key), client_ca)


def _security(tls: "TlsFiles | None", only_here: bool) -> str:
    if tls is not None:
        return "TLS; bots need a certificate too" if tls.client_ca else "TLS"
    if only_here:
        return "no TLS, so only this machine can connect"
    return "no TLS (insecure = true): tokens and cards can be read on the way"


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """*work* as a task for as long as the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def failing_with(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """:func:`beside`, but an error of *work* ends the block, and is its error."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()


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
