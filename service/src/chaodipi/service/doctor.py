"""What may be wrong with a machine, its settings, its store or a host: looked at without changing anything."""

import shutil
import stat
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import grpc
from chaodipi.sdk.tls import Tls, open_channel, with_tls_hint
from chaodipi.sdk.transport import OPTIONS
from chaodipi.service.certificates import lifetimes
from chaodipi.service.host.errors import HostError
from chaodipi.service.rpc.server import SERVICES
from chaodipi.service.rpc.tls import TlsFiles, server_credentials
from chaodipi.service.store import EarlierSchemaError, Store, StoreError
from chaodipi.service.version import server_version
from chaodipi.v1 import bot_pb2, bot_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

__all__ = ["Finding", "check_clock", "check_server", "check_store", "check_tls", "check_versions"]

OURS = ("chaodipi-engine", "chaodipi-proto", "chaodipi-sdk", "chaodipi-server")
CERTIFICATE_DAYS = 14
"""Days before the end of a certificate from which it is warned of."""
LOW_DISK, LEAST_DISK = 2 << 30, 256 << 20
"""Free bytes under which there is a warning, and a problem."""
CLOCK_RESOLUTION_S = 0.001
CLOCKS_APART_S = 2.0
PROBES = 9
PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: of what, how bad, and what; only a problem makes the whole fail."""

    level: Literal["ok", "warning", "problem"]
    subject: str
    text: str


def check_versions() -> Iterator[Finding]:
    """Python, gRPC, protobuf, and whether our own distributions are of one version."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("ok", "versions", f"Python {python}, grpcio {grpc.__version__}, protobuf {version('protobuf')}")
    found = {name: _version(name) for name in OURS}
    if len(set(found.values())) == 1:
        yield Finding("ok", "versions", f"chaodipi {server_version()}")
    else:
        said = ", ".join(f"{name.removeprefix('chaodipi-')} {text}" for name, text in found.items())
        yield Finding("problem", "versions", f"of chaodipi they differ: {said}")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def check_clock() -> Iterator[Finding]:
    """Whether the clock that times decisions is fit for it."""
    info = time.get_clock_info("monotonic")
    fine = info.monotonic and info.resolution <= CLOCK_RESOLUTION_S
    text = f"the monotonic clock counts in {info.resolution * 1e9:,.0f} ns"
    yield Finding("ok" if fine else "problem", "clock", text if fine else f"{text}, 1 ms is needed")


def check_tls(files: TlsFiles, now: datetime) -> Iterator[Finding]:
    """Whether the host's TLS files can be read, go together, hold at *now* and for some time."""
    try:
        server_credentials(files)
    except HostError as error:
        yield Finding("problem", "TLS", str(error))
        return
    if files.key.stat().st_mode & stat.S_IRWXO:
        yield Finding("warning", "TLS", f"{files.key.name} is open to every user: chmod o= {files.key}")
    for path in filter(None, (files.cert, files.client_ca)):
        try:
            found = lifetimes(path.read_text("ascii"))
        except (OSError, ValueError) as error:
            yield Finding("problem", "TLS", f"{path.name}: {error}")
            continue
        # A chain holds as long as all of it does.
        begins, ends = max(life.begins for life in found), min(life.ends for life in found)
        left = (ends - now).days
        if now >= ends:
            yield Finding("problem", "TLS", f"{path.name} ended {ends:%Y-%m-%d}")
        elif now < begins:
            yield Finding("problem", "TLS", f"{path.name} begins {begins:%Y-%m-%d}")
        else:
            level: Literal["ok", "warning"] = "ok" if left >= CERTIFICATE_DAYS else "warning"
            yield Finding(level, "TLS", f"{path.name} ends {ends:%Y-%m-%d}, in {left} days")


def check_store(path: Path) -> Iterator[Finding]:
    """Whether the store is sound and of this version, and has room to grow."""
    folder = next(parent for parent in (path.parent, *path.parent.absolute().parents) if parent.is_dir())
    free = shutil.disk_usage(folder).free
    level: Literal["ok", "warning", "problem"] = "ok" if free >= LOW_DISK else "warning"
    yield Finding("problem" if free < LEAST_DISK else level, "disk", f"{free / (1 << 30):,.1f} GiB free for the store")
    if not path.exists():
        yield Finding("ok", "store", f"none at {path} yet: it is made when it is needed")
        return
    try:
        with Store(path, writing=False) as store:
            store.database.check(thorough=True)
            schema = _schema(store)
    except StoreError as error:
        yield Finding("problem", "store", str(error))
        return
    yield Finding("ok", "store", f"{path} is sound, {path.stat().st_size / (1 << 20):,.1f} MiB")
    yield schema


def _schema(store: Store) -> Finding:
    try:
        store.database.check_schema()
    except EarlierSchemaError as error:
        return Finding("warning", "store", str(error))
    except StoreError as error:
        return Finding("problem", "store", str(error))
    return Finding("ok", "store", f"its schema is of this version; bots: {len(store.bots.all())}")


async def check_server(server: str, tls: Tls | None, token: str) -> list[Finding]:
    """Whether the host at *server* answers, how fast, how its clock goes, and how its services and *token* are."""
    async with open_channel(server, tls, OPTIONS) as channel:
        system: Any = bot_pb2_grpc.SystemServiceStub(channel)
        try:
            info = await system.GetServerInfo(bot_pb2.GetServerInfoRequest(), timeout=PATIENCE_S)
            times, apart = await _probe(system)
        except grpc.aio.AioRpcError as error:
            why = with_tls_hint(_reason(error), server, tls)
            return [Finding("problem", "server", f"{server} does not answer: {why}")]
        findings = [Finding("ok", "server", f"{server} is chaodipi {info.server_version}, minor {info.api_minor}")]
        if info.server_version != server_version():
            findings.append(Finding("warning", "server", f"it is not of our version, {server_version()}"))
        rtt = f"RTT median {statistics.median(times) * 1e3:.1f} ms, most {max(times) * 1e3:.1f} ms"
        findings.append(Finding("ok", "server", f"{rtt}, of {len(times)} calls"))
        level: Literal["ok", "warning"] = "ok" if abs(apart) <= CLOCKS_APART_S else "warning"
        findings.append(Finding(level, "clock", f"the host's time of day is {apart:+.1f} s from ours"))
        findings += await _healths(channel)
        if token:
            findings.append(await _token(system, token))
    return findings


async def _probe(system: Any) -> tuple[list[float], float]:
    """Seconds of some calls, and the seconds that the host's time of day is ahead of ours, from the quickest."""
    times, best = [], (float("inf"), 0.0)
    for _ in range(PROBES):
        sent, wall = time.monotonic(), time.time()
        info = await system.GetServerInfo(bot_pb2.GetServerInfoRequest(), timeout=PATIENCE_S)
        took = time.monotonic() - sent
        times.append(took)
        best = min(best, (took, info.server_time.ToNanoseconds() / 1e9 - (wall + took / 2)))
    return times, best[1]


async def _healths(channel: grpc.aio.Channel) -> list[Finding]:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    findings = []
    for name in ("", *SERVICES):
        try:
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=PATIENCE_S)
            said = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
        except grpc.aio.AioRpcError as error:
            said = _reason(error)
        ok = said == "SERVING"
        findings.append(Finding("ok" if ok else "problem", "health", f"{name or 'the host'}: {said}"))
    return findings


async def _token(system: Any, token: str) -> Finding:
    try:
        who = await system.WhoAmI(
            bot_pb2.WhoAmIRequest(), metadata=(("authorization", f"Bearer {token}"),), timeout=PATIENCE_S
        )
    except grpc.aio.AioRpcError as error:
        return Finding("problem", "token", _reason(error))
    end = "never ends"
    if who.HasField("expire_time"):
        end = f"ends {who.expire_time.ToDatetime(UTC):%Y-%m-%d %H:%M} UTC"
    return Finding("ok", "token", f"{who.principal}, may: {' '.join(who.scopes) or 'nothing more'}; {end}")


def _reason(error: grpc.aio.AioRpcError) -> str:
    details = error.details() or ""
    # gRPC repeats the address and the layers below; the last words say what happened.
    return details.rpartition("last error: ")[2][:200] or error.code().name
