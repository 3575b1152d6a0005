"""Every method of every service refuses whoever has no right to it, and every refusal is typed."""

import asyncio
import contextlib
import dataclasses
import importlib
import pkgutil
from typing import Any

import chaodipi.v1
import grpc
import pytest
from chaodipi.service.config import QUOTAS
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import ADMIN, SCOPES, Grant, Tokens, hash_token, new_token
from chaodipi.service.host.quota import Bucket, Quotas
from chaodipi.service.rpc.gate import ANY_TOKEN, ANYBODY, RIGHTS
from chaodipi.service.rpc.server import start_server
from chaodipi.v1 import bot_pb2, bot_pb2_grpc, rules_pb2, rules_pb2_grpc, session_pb2, session_pb2_grpc
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

NOW = 1_000_000.0
GRANTS = {
    "good": Grant("ant", hash_token("good"), scopes=frozenset(SCOPES) - {ADMIN}),
    "expired": Grant("ant", hash_token("expired"), expires_at=NOW),
    "revoked": Grant("ant", hash_token("revoked"), revoked=True),
    "narrow": Grant("ant", hash_token("narrow"), scopes=frozenset()),
    "last minute": Grant("ant", hash_token("last minute"), expires_at=NOW + 60),
}


@contextlib.asynccontextmanager
async def gate(**options: Any):
    host = Host(wall_clock=lambda: NOW, **options)
    host.set_grants(GRANTS.values())
    server, port = await start_server(host)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield host, channel
    await host.stop(0)
    await server.stop(None)


def bearer(token: str | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("authorization", f"Bearer {token}"),)


async def ask(channel: Any, method: str, token: str | None, body: bytes = b"") -> tuple[grpc.StatusCode, str]:
    """Call *method* with raw bytes and give its status and details."""
    service, name = method[1:].split("/")
    spec = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    kind = f"{'stream' if spec.client_streaming else 'unary'}_{'stream' if spec.server_streaming else 'unary'}"
    call = getattr(channel, kind)(method, request_serializer=None, response_deserializer=None)
    try:
        async with asyncio.timeout(10):
            if spec.client_streaming:
                stream = call(metadata=bearer(token))
                with contextlib.suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
                    await stream.write(body)
                    await stream.done_writing()
                return await stream.code(), await stream.details()
            if spec.server_streaming:
                stream = call(body, metadata=bearer(token))
                async for _ in stream:
                    return grpc.StatusCode.OK, ""
                return await stream.code(), await stream.details()
            await call(body, metadata=bearer(token))
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""


async def last_word(stream: Any) -> str:
    """Reads *stream* to its end; the reason that it was ended for, as said in band."""
    said = ""
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        async with asyncio.timeout(10):
            while (frame := await stream.read()) is not grpc.aio.EOF:
                for message in frame.messages:
                    said = message.warning.reason or said
    return said


async def served(channel: Any) -> set[str]:
    """Every method that the server says it has, by reflection."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    found = set()
    async for answer in stub.ServerReflectionInfo(iter([request])):
        for service in answer.list_services_response.service:
            spec = descriptor_pool.Default().FindServiceByName(service.name)
            found |= {f"/{service.name}/{method.name}" for method in spec.methods}
    return found


def declared() -> set[str]:
    """Every method of the package ``chaodipi.v1``."""
    services = [
        service
        for module in pkgutil.iter_modules(chaodipi.v1.__path__)
        if module.name.endswith("_pb2")
        for service in importlib.import_module(f"chaodipi.v1.{module.name}").DESCRIPTOR.services_by_name.values()
    ]
    return {f"/{service.full_name}/{method.name}" for service in services for method in service.methods}


async def test_every_method_that_is_served_or_declared_has_its_right_written_down() -> None:
    async with gate() as (_, channel):
        assert await served(channel) == set(RIGHTS)
    assert {method for method in RIGHTS if method.startswith("/chaodipi.")} == declared()
    assert set(RIGHTS.values()) <= {ANYBODY, ANY_TOKEN, *SCOPES}


@pytest.mark.parametrize("method", [method for method, right in RIGHTS.items() if right != ANYBODY])
async def test_a_method_refuses_a_token_that_does_not_hold(method: str) -> None:
    async with gate() as (_, channel):
        for token, reason in [
            (None, "TOKEN_MISSING"),
            ("", "TOKEN_MISSING"),
            ("wrong", "TOKEN_INVALID"),
            ("good ", "OK"),
            ("expired", "TOKEN_EXPIRED"),
            ("revoked", "TOKEN_REVOKED"),
        ]:
            code, details = await ask(channel, method, token)
            if reason == "OK":
                assert code not in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
            else:
                assert (code, details.split(":")[0]) == (grpc.StatusCode.UNAUTHENTICATED, reason), token
        code, details = await ask(channel, method, "narrow")
        if RIGHTS[method] == ANY_TOKEN:
            assert code not in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
        else:
            assert (code, details.split(":")[0]) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")


@pytest.mark.parametrize("scope", sorted(SCOPES))
async def test_a_scope_opens_the_methods_that_need_it_and_no_others(scope: str) -> None:
    async with gate() as (host, channel):
        host.set_grants([Grant("ant", hash_token("scoped"), scopes=frozenset({scope}))])
        refused = set()
        for method, right in RIGHTS.items():
            if right not in (ANYBODY, ANY_TOKEN):
                code, _ = await ask(channel, method, "scoped")
                if code == grpc.StatusCode.PERMISSION_DENIED:
                    refused.add(right)
        assert refused == ({*RIGHTS.values()} - {ANYBODY, ANY_TOKEN, scope} if scope != ADMIN else set())


async def test_every_service_has_its_health() -> None:
    """SERVING while the host takes part, NOT_SERVING once it drains."""
    async with gate() as (host, channel):
        stub: Any = health_pb2_grpc.HealthStub(channel)
        ours = {method.split("/")[1] for method in RIGHTS if method.startswith("/chaodipi.")}
        assert len(ours) == 6
        for serving in (health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING):
            for service in ("", *ours):
                answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
                assert answer.status == serving, service
            await host.drain(0)


@pytest.mark.parametrize("method", sorted(RIGHTS))
async def test_bytes_that_are_no_message_are_refused_by_type(method: str) -> None:
    async with gate() as (_, channel):
        code, details = await ask(channel, method, "good", b"\xff\xff\xff\xff")
        assert (code, details.split(":")[0]) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID")


async def test_a_method_without_a_right_is_open_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    method = "/chaodipi.v1.SystemService/WhoAmI"
    monkeypatch.delitem(RIGHTS, method)
    async with gate() as (_, channel):
        code, details = await ask(channel, method, "good")
        assert (code, details.split(":")[0]) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
        code, _ = await ask(channel, method, None)
        assert code == grpc.StatusCode.UNAUTHENTICATED


async def test_an_error_of_ours_is_typed_and_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(host: Host) -> Any:
        raise RuntimeError("the secret path /x")

    monkeypatch.setattr(Host, "online", broken)
    async with gate() as (_, channel):
        code, details = await ask(channel, "/chaodipi.v1.BotService/ListBots", "good")
        assert (code, details) == (grpc.StatusCode.INTERNAL, "HOST_FAULT: an internal error of the host")


async def test_a_token_that_is_revoked_ends_its_session_and_no_other() -> None:
    async with gate() as (host, channel):
        stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
        hello = session_pb2.OpenSessionRequest(messages=[{"hello": {"instance": "one"}}])
        other = session_pb2.OpenSessionRequest(messages=[{"hello": {"instance": "two"}}])
        streams = [stub.OpenSession(metadata=bearer("good")), stub.OpenSession(metadata=bearer("last minute"))]
        for stream, first in zip(streams, (hello, other), strict=True):
            await stream.write(first)
            assert (await stream.read()).messages[0].WhichOneof("body") == "welcome"
        host.set_grants([Grant("ant", hash_token("good"), revoked=True)])
        assert await last_word(streams[0]) == "TOKEN_REVOKED"
        assert await streams[0].code() == grpc.StatusCode.UNAUTHENTICATED
        assert not streams[1].done()
        assert host.online() == {"ant": 1}


async def test_too_many_calls_are_refused_with_the_time_to_wait() -> None:
    async with gate(quotas=Quotas(calls_s=2)) as (_, channel):
        system: Any = bot_pb2_grpc.SystemServiceStub(channel)
        refused = None
        for _ in range(20):
            try:
                await system.WhoAmI(bot_pb2.WhoAmIRequest(), metadata=bearer("good"))
            except grpc.aio.AioRpcError as error:
                refused = error
        assert refused is not None
        assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        trailer = dict(refused.trailing_metadata())["grpc-status-details-bin"]
        assert b"RATE_LIMITED" in trailer
        assert b"google.rpc.RetryInfo" in trailer
        # Another token has a quota of its own.
        await system.WhoAmI(bot_pb2.WhoAmIRequest(), metadata=bearer("narrow"))


async def test_a_flood_of_frames_ends_that_session_only() -> None:
    async with gate(quotas=Quotas(frames_s=20)) as (host, channel):
        stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
        quiet, loud = stub.OpenSession(metadata=bearer("last minute")), stub.OpenSession(metadata=bearer("good"))
        for stream, name in ((quiet, "quiet"), (loud, "loud")):
            await stream.write(session_pb2.OpenSessionRequest(messages=[{"hello": {"instance": name}}]))
            await stream.read()
        reading = asyncio.create_task(last_word(loud))
        with contextlib.suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
            for nonce in range(200):
                await loud.write(session_pb2.OpenSessionRequest(messages=[{"ping": {"nonce": nonce}}]))
        # A client that writes while its call ends may hear nothing of the reason: the host is asked for it.
        await reading
        ended = {"method": "BotSessionService/OpenSession", "reason": "RATE_LIMITED"}
        async with asyncio.timeout(20):
            while host.metrics.registry.get_sample_value("chaodipi_calls_total", ended) != 1:
                await asyncio.sleep(0.01)
        assert host.online() == {"ant": 1}


async def test_the_judge_is_not_asked_without_a_token() -> None:
    async with gate() as (_, channel):
        rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError, match="TOKEN_MISSING"):
            await rules.Judge(rules_pb2.JudgeRequest(question_json="{}"))


def test_a_bucket_fills_with_time_and_no_further_than_its_burst() -> None:
    bucket = Bucket(rate=10, burst=20)
    assert bucket.take(20, 100.0) == 0
    assert bucket.take(5, 100.0) == pytest.approx(0.5)
    assert bucket.take(5, 100.5) == 0
    assert bucket.take(1, 100.5) == pytest.approx(0.1)
    assert bucket.take(20, 1000.0) == 0
    assert bucket.take(1, 1000.0) > 0


def test_a_token_is_found_by_its_id_and_let_in_by_its_hash_only() -> None:
    """Whoever knows an id, which is in logs and lists, knows nothing; two grants never mix."""
    tokens = Tokens()
    one, two = new_token(), new_token()
    for name, token in (("ant", one), ("bee", two)):
        tokens.set(Grant.of(name, token))
    assert tokens.check(one, NOW).name == "ant"
    for wrong in (one[:9] + two[9:], one[:-1], one[:8], one.upper(), "x" * 10_000, "\ud800", f"{hash_token(one)}"):
        with pytest.raises(SessionRefused) as refused:
            tokens.check(wrong, NOW)
        assert refused.value.reason == "TOKEN_INVALID"
    assert tokens.take_used() == {one[:8]: NOW}
    assert tokens.take_used() == {}


async def test_who_am_i_tells_when_the_token_ends() -> None:
    async with gate() as (_, channel):
        system: Any = bot_pb2_grpc.SystemServiceStub(channel)
        answer = await system.WhoAmI(bot_pb2.WhoAmIRequest(), metadata=bearer("last minute"))
        assert (answer.principal, answer.scopes, answer.expire_time.seconds) == ("bots/ant", ["play"], int(NOW + 60))
        answer = await system.WhoAmI(bot_pb2.WhoAmIRequest(), metadata=bearer("good"))
        assert not answer.HasField("expire_time")


async def test_seats_beyond_a_tokens_quota_stay_empty_whatever_its_sessions_say() -> None:
    """Seats are shared by the sessions of one token, first come first; another token has its own."""

    async def announce(stream: Any, seats: int) -> str:
        """What the host warns of after *seats* were offered, "" if of nothing."""
        said = ""
        await stream.write(
            session_pb2.OpenSessionRequest(messages=[{"availability": {"max_matches": seats}}, {"ping": {"nonce": 7}}])
        )
        while True:
            for message in (await stream.read()).messages:
                if message.WhichOneof("body") == "pong":
                    return said
                said = message.warning.reason or said

    async with gate(quotas=Quotas(matches=6)) as (host, channel):
        stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
        streams = [stub.OpenSession(metadata=bearer(token)) for token in ("good", "good", "last minute")]
        for number, stream in enumerate(streams):
            await stream.write(session_pb2.OpenSessionRequest(messages=[{"hello": {"instance": str(number)}}]))
            assert (await stream.read()).messages[0].welcome.limits.max_matches == 6
        assert await announce(streams[0], 4) == ""
        assert await announce(streams[1], 4) == "QUOTA_MATCHES"
        assert await announce(streams[2], 6) == ""
        assert [session.max_tables for session in host._sessions["ant"]] == [4, 2, 6]
        # What one session gives back is the other's.
        assert await announce(streams[0], 1) == ""
        assert [session.max_tables for session in host._sessions["ant"]] == [1, 4, 6]


async def test_sessions_are_counted_for_each_token() -> None:
    async with gate(quotas=Quotas(sessions=1)) as (host, channel):
        stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
        streams = [stub.OpenSession(metadata=bearer(token)) for token in ("good", "last minute", "good")]
        for number, stream in enumerate(streams[:2]):
            await stream.write(session_pb2.OpenSessionRequest(messages=[{"hello": {"instance": str(number)}}]))
            assert (await stream.read()).messages[0].WhichOneof("body") == "welcome"
        await streams[2].write(session_pb2.OpenSessionRequest(messages=[{"hello": {"instance": "more"}}]))
        assert await streams[2].code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await streams[2].details()).startswith("INSTANCE_LIMIT: 1 sessions of this token")
        assert b"google.rpc.RetryInfo" in dict(await streams[2].trailing_metadata())["grpc-status-details-bin"]
        assert host.online() == {"ant": 2}


def test_the_settings_name_every_quota() -> None:
    assert {field.name for field in dataclasses.fields(Quotas)} == set(QUOTAS)
