"""The one place where calls are let in: rights by method, quotas, and no error without a type.

A method that is not in :data:`RIGHTS` is refused, whoever calls. The services behind the gate are handed the caller
by :func:`principal`.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import grpc
import structlog
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import PLAY, READ_LEAGUES, READ_MATCHES, Principal
from chaodipi.service.rpc.errors import refuse
from google.protobuf.message import DecodeError

__all__ = ["ANYBODY", "ANY_TOKEN", "RIGHTS", "Gate", "Unreadable", "principal"]

log = structlog.get_logger("chaodipi.rpc")

ANYBODY = "anybody"
ANY_TOKEN = ""

RIGHTS: dict[str, str] = {
    "/chaodipi.v1.BotSessionService/OpenSession": PLAY,
    "/chaodipi.v1.SystemService/GetServerInfo": ANYBODY,
    "/chaodipi.v1.SystemService/WhoAmI": ANY_TOKEN,
    "/chaodipi.v1.BotService/ListBots": ANY_TOKEN,
    "/chaodipi.v1.MatchService/GetMatch": READ_MATCHES,
    "/chaodipi.v1.MatchService/ListMatches": READ_MATCHES,
    "/chaodipi.v1.MatchService/GetReplay": READ_MATCHES,
    "/chaodipi.v1.LeagueService/GetLeague": READ_LEAGUES,
    "/chaodipi.v1.LeagueService/ListStandings": READ_LEAGUES,
    "/chaodipi.v1.RulesService/ListRulesets": ANY_TOKEN,
    "/chaodipi.v1.RulesService/Judge": ANY_TOKEN,
    "/chaodipi.v1.RulesService/CheckPlay": ANY_TOKEN,
    "/chaodipi.v1.RulesService/ListLegalPlays": ANY_TOKEN,
    "/grpc.health.v1.Health/Check": ANYBODY,
    "/grpc.health.v1.Health/List": ANYBODY,
    "/grpc.health.v1.Health/Watch": ANYBODY,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": ANYBODY,
}
"""Scope that each method needs; :data:`ANY_TOKEN`: a token that holds; :data:`ANYBODY`: none."""

# By whether requests and answers are streams.
_NAMES = {
    (False, False): "unary_unary",
    (False, True): "unary_stream",
    (True, False): "stream_unary",
    (True, True): "stream_stream",
}
_MAKERS = {kind: getattr(grpc, f"{name}_rpc_method_handler") for kind, name in _NAMES.items()}
_FIRST_FRAME_S = 1.0
_CALLER: ContextVar[Principal | None] = ContextVar("caller", default=None)


class Unreadable:
    """What stands for a message whose bytes are none of its kind."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size


def principal() -> Principal:
    """Who makes the call that is being answered; only for methods that need a token."""
    caller = _CALLER.get()
    assert caller is not None
    return caller


class Gate(grpc.aio.ServerInterceptor):
    """Lets calls in, or ends them with a typed status."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Wrap the method's handler; a method that nobody serves stays UNIMPLEMENTED."""
        handler = await continuation(details)
        if handler is None:
            return None
        serve = self._with_stream if handler.request_streaming else self._with_request
        kind = handler.request_streaming, handler.response_streaming
        return _MAKERS[kind](
            serve(getattr(handler, _NAMES[kind]), details.method, details.invocation_metadata),
            _lenient(handler.request_deserializer),
            handler.response_serializer,
        )

    def _enter(self, method: str, metadata: Any) -> Principal | None:
        """
        The caller, if he may call *method*; None where nobody is asked who he is.

        Raises:
            SessionRefused: he may not.
        """
        right = RIGHTS.get(method)
        if right == ANYBODY:
            return None
        caller = self._host.authenticate(token_of(metadata))
        if right is None:
            raise SessionRefused(7, "SCOPE_MISSING", "this method is open to nobody")
        caller.require(right)
        return caller

    def _with_request(self, inner: Any, method: str, metadata: Any) -> Any:
        """A method that takes one message."""

        async def call(request: Any, context: Any) -> Any:
            async with self._typed(method, context):
                caller = self._enter(method, metadata)
                if caller is not None:
                    self._host.usage(caller).call(time.monotonic())
                return await _answer(inner, _readable(request), context, caller)

        return call

    def _with_stream(self, inner: Any, method: str, metadata: Any) -> Any:
        """A method that takes a stream."""

        async def call(requests: Any, context: Any) -> None:
            async with self._typed(method, context):
                try:
                    caller = self._enter(method, metadata)
                    if caller is not None:
                        self._host.usage(caller).open(time.monotonic())
                except SessionRefused:
                    # A client that is writing its first frame while the call ends sees INTERNAL, not this status.
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_FIRST_FRAME_S):
                            await context.read()
                    raise
                await _answer(inner, _readable_stream(requests), context, caller)

        return call

    @contextlib.asynccontextmanager
    async def _typed(self, method: str, context: Any) -> AsyncIterator[None]:
        """Whatever goes wrong inside ends the call with a typed status, and is counted by it."""
        reason = "OK"
        try:
            yield
        except SessionRefused as error:
            reason = error.reason
            await refuse(context, error)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            reason = "CANCELLED"
            raise
        except NotImplementedError:
            reason = "METHOD_UNIMPLEMENTED"
            await refuse(context, SessionRefused(12, reason, "this host does not have the method"))
        except Exception:
            reason = "HOST_FAULT"
            log.exception("call_failed")
            await refuse(context, SessionRefused(13, reason, "an internal error of the host"))
        finally:
            self._host.metrics.call_ended(method.rpartition(".")[2], reason)


async def _answer(inner: Any, request: Any, context: Any, caller: Principal | None) -> Any:
    """Run the method itself, which may be a generator of answers, or write them and return."""
    token = _CALLER.set(caller)
    try:
        answers = inner(request, context)
        if not hasattr(answers, "__aiter__"):
            return await answers
        async for answer in answers:
            await context.write(answer)
    finally:
        _CALLER.reset(token)


def _readable(request: Any) -> Any:
    """*request* itself; SessionRefused if its bytes were none."""
    if isinstance(request, Unreadable):
        raise SessionRefused(3, "FIELD_INVALID", f"{request.size} bytes that are no message of its kind")
    return request


async def _readable_stream(requests: Any) -> Any:
    async for request in requests:
        yield _readable(request)


def token_of(metadata: Any) -> str | None:
    """The token of ``authorization: Bearer <token>``, None if there is none."""
    for key, value in metadata or ():
        if key == "authorization" and isinstance(value, str) and value[:7].lower() == "bearer ":
            return value[7:].strip() or None
    return None


def _lenient(deserialize: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    """Bytes that cannot be read become :class:`Unreadable`; gRPC itself would log them and answer INTERNAL."""
    if deserialize is None:
        return None

    def read(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return Unreadable(len(data))

    return read
