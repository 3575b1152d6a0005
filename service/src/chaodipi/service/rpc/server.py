"""The gRPC server: services, health, reflection, and the settings that keep streams alive."""

import errno
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from chaodipi.service.host.errors import HostError
from chaodipi.service.host.host import Host
from chaodipi.service.rpc.asking import ReadingDesk
from chaodipi.service.rpc.gate import Gate
from chaodipi.service.rpc.leagues import LeagueService
from chaodipi.service.rpc.matches import MatchService
from chaodipi.service.rpc.rules import RulesService
from chaodipi.service.rpc.session import BotSessionService
from chaodipi.service.rpc.unary import BotService, SystemService
from chaodipi.service.store.archive import Archive
from chaodipi.v1 import (
    bot_pb2,
    bot_pb2_grpc,
    league_pb2,
    league_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
    rules_pb2,
    rules_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
)
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

__all__ = ["SERVICES", "Listener", "check_address", "is_local", "serve_at", "start_server"]

SERVICES = tuple(
    service.full_name
    for file in (session_pb2, bot_pb2, match_pb2, league_pb2, rules_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
)
"""Ours, by name; each has its health."""
KEEPALIVE_MS = 3_000
KEEPALIVE_TIMEOUT_MS = 4_000
"""A connection on which nothing comes is pinged after the first and given up after the second. Both together are below
the shortest default limit, so that a seat whose path is dead is known to be away before its time is up."""
MAX_MESSAGE_BYTES = 1 << 20
MAX_STREAMS = 1_024

_OPTIONS = (
    # Two servers on one port would share its bots by chance.
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    # Without it the default of 60 s decides when a frozen bot is noticed.
    ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    # Half of what our SDK keeps, so that no jitter makes it too many.
    ("grpc.http2.min_ping_interval_without_data_ms", KEEPALIVE_MS // 2),
    ("grpc.max_concurrent_streams", MAX_STREAMS),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
)
"""A name that gRPC does not know would be ignored without a word: each is tried by its effect in test_transport.py."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Where to serve: ``host:port``, port 0 for a free one; without *credentials* in the clear."""

    address: str
    credentials: grpc.ServerCredentials | None = None


async def start_server(
    host: Host,
    address: str = "127.0.0.1:0",
    *,
    credentials: grpc.ServerCredentials | None = None,
    archive: Archive | None = None,
) -> tuple[grpc.aio.Server, int]:
    """:func:`serve_at` one address."""
    server, [port] = await serve_at(host, [Listener(address, credentials)], archive=archive)
    return server, port


async def serve_at(
    host: Host, listeners: Sequence[Listener], *, reflect: bool = True, archive: Archive | None = None
) -> tuple[grpc.aio.Server, list[int]]:
    """
    Serve *host* at every one of *listeners*; the started server and its ports.

    Health is SERVING for each service and for "" until the host drains, NOT_SERVING from then on.

    Args:
        archive: What matches, leagues and owners of bots are read from; None: there are none.
        reflect: Tell anybody by reflection which services there are.

    Raises:
        HostError: a port is in use, or an address is none; the operator's mistake.
    """
    server = grpc.aio.server(interceptors=[Gate(host)], options=_OPTIONS)
    desk = ReadingDesk(archive)
    session_pb2_grpc.add_BotSessionServiceServicer_to_server(BotSessionService(host), server)
    bot_pb2_grpc.add_SystemServiceServicer_to_server(SystemService(host), server)
    bot_pb2_grpc.add_BotServiceServicer_to_server(BotService(host, desk), server)
    match_pb2_grpc.add_MatchServiceServicer_to_server(MatchService(desk), server)
    league_pb2_grpc.add_LeagueServiceServicer_to_server(LeagueService(desk), server)
    rules_pb2_grpc.add_RulesServiceServicer_to_server(RulesService(host), server)
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    for name in ["", *SERVICES]:
        await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    host.on_drain(servicer.enter_graceful_shutdown)
    if reflect:
        reflection.enable_server_reflection([*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    ports = [_listen(server, listener) for listener in listeners]
    await server.start()
    return server, ports


def _listen(server: grpc.aio.Server, listener: Listener) -> int:
    address = listener.address
    check_address(address)
    try:
        if listener.credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, listener.credentials)
    except RuntimeError as error:
        raise HostError(f"cannot serve at {address}: it is in use, or no address of this machine") from error
    if port == 0:
        raise HostError(f"cannot serve at {address}: it is in use, or no address of this machine")
    return port


def check_address(address: str) -> bool:
    """
    Try *address*, so that what is wrong with it is known by name; gRPC only logs it.

    Returns:
        Whether only this machine can reach it.

    Raises:
        HostError: no address, not of this machine, or in use; the operator's mistake.
    """
    name, port_text, found = _resolve(address)
    family, kind, protocol, _, place = found[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except PermissionError as error:
            raise HostError(f"port {port_text} at {name} needs rights that this process lacks") from error
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise HostError(f"port {port_text} is in use at {name}") from error
            raise HostError(f"{name} is no address of this machine: {error.strerror}") from error
    return _loopback(found)


def is_local(address: str) -> bool:
    """
    Whether only this machine can reach *address*, whoever listens there.

    Raises:
        HostError: no address; the operator's mistake.
    """
    return _loopback(_resolve(address)[2])


def _resolve(address: str) -> tuple[str, str, list[Any]]:
    """Name and port of *address*, and what the resolver makes of them; HostError if it is none."""
    name, colon, port_text = address.rpartition(":")
    if not colon or not port_text.isdecimal() or int(port_text) > 65535:
        raise HostError(f"{address!r} is no address: host:port expected, such as 127.0.0.1:7878")
    try:
        found = socket.getaddrinfo(name.strip("[]"), int(port_text), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise HostError(f"{address}: no such host: {error.strerror}") from error
    return name, port_text, found


def _loopback(found: list[Any]) -> bool:
    return all(ipaddress.ip_address(str(place[0]).partition("%")[0]).is_loopback for *_, place in found)
