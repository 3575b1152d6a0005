"""The session of a bot process: one stream to the host, any number of matches on it.

A reader takes frames in, folds events into one :class:`View` a channel and asks the bot; one
writer sends what is queued, all of it in one frame. When the stream is lost, the session opens
a new one after a jittered pause and goes on where the host lets it.
"""

import asyncio
import contextlib
import logging
import os
import random
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import grpc
from chaodipi.engine.actions import Action
from chaodipi.engine.cards import Seat
from chaodipi.engine.errors import EngineError
from chaodipi.engine.events import DealEnded, DealStarted
from chaodipi.engine.ruleset import Ruleset, preset_names, resolve
from chaodipi.engine.view import View
from chaodipi.sdk import wire
from chaodipi.sdk.bot import Bot
from chaodipi.sdk.decision import Decision, default_action
from chaodipi.sdk.nonces import Nonces
from chaodipi.sdk.rulesets import ruleset_from_match
from chaodipi.sdk.tls import Tls, open_channel, with_tls_hint
from chaodipi.sdk.transport import FRAME_BYTES, SESSION_OPTIONS, backoff, frames
from chaodipi.v1 import seat_pb2, session_pb2, session_pb2_grpc

__all__ = ["Session", "SessionError"]

log = logging.getLogger("chaodipi.sdk")

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_UNREACHABLE = 0, 1, 2, 3
_WATCH_S, _WELCOME_S = 0.25, 15.0
_DRAIN_AWAY_S = 60.0
"""How long a bot that drains tries to come back to the matches that it left by a lost stream."""
_FINAL = {
    grpc.StatusCode.UNAUTHENTICATED: EXIT_USAGE,
    grpc.StatusCode.PERMISSION_DENIED: EXIT_USAGE,
    grpc.StatusCode.INVALID_ARGUMENT: EXIT_FAILED,
    grpc.StatusCode.FAILED_PRECONDITION: EXIT_FAILED,
    grpc.StatusCode.UNIMPLEMENTED: EXIT_FAILED,
    grpc.StatusCode.ABORTED: EXIT_FAILED,
}
"""Ends of a stream after which a new one would end in the same way, and what to exit with."""
_FINAL_WORDS = {"SESSION_REPLACED", "SDK_TOO_OLD", "TOKEN_EXPIRED", "TOKEN_REVOKED"}
"""Reasons for such an end, as the host's last word in the stream, whose status may be lost while it is written to."""


class SessionError(Exception):
    """The session cannot go on; ``exit_code`` is what a process should end with."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(slots=True)
class _Channel:
    """One seat of one match: its bot, and the deal as far as the seat knows it."""

    number: int
    match: str
    seat: Seat
    token: str
    ruleset: Ruleset
    bot: Bot
    view: View = field(init=False)
    seq: int = 0
    deal: int = 0
    charged_ms: int = 0
    """What the last answer was charged."""
    lost: bool = False
    """Events are missing and were asked for again."""

    def __post_init__(self) -> None:
        self.view = View(self.ruleset, self.seat)


class Session:
    """
    Plays a bot class on one host until it is stopped.

    Args:
        bot: The class; one instance is made for each seat of each match.
        server: ``host:port``; ``https://host:port`` for TLS by well-known authorities.
        token: The bot's token, of scope "play".
        max_matches: Seats to hold at the same time.
        wait_s: Seconds to try to reach a host that was never reached; None: for ever.
        instance: Name of this worker; made up if not given.
        tls: For a host that serves by TLS.
        nonces: File to keep the bot's nonces in, to check the cards with; made if missing.
    """

    def __init__(
        self,
        bot: type[Bot],
        server: str,
        token: str,
        *,
        max_matches: int = 64,
        wait_s: float | None = 30.0,
        instance: str | None = None,
        tls: Tls | None = None,
        nonces: Path | None = None,
    ) -> None:
        self._bot = bot
        self._nonces = Nonces(bot, nonces)
        self._server = server
        self._tls = tls
        self._token = token
        self._max_matches = max_matches
        self._wait_s = wait_s
        self._instance = instance or f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(3)}"
        self._channels: dict[int, _Channel] = {}
        self._held: dict[str, _Channel] = {}
        """Channels of streams before, by seat token, until the host has resumed what it knows of them."""
        self._out: list[session_pb2.ClientMessage] = []
        self._wake = asyncio.Event()
        self._resume_token = ""
        self._welcomed = False
        self._draining = False
        self._stopped = asyncio.Event()
        self._silence_s = 0.0
        self._quiet_s = 0.0
        self._unanswered_s: float | None = None
        """Since the ping that is not answered yet; None: all are."""
        self._loop_lag_ms = 0
        self._pause_s: float | None = None
        self._last_word: session_pb2.ServerMessage | None = None
        self._frame_bytes = FRAME_BYTES
        self._note_bytes = FRAME_BYTES
        self.decisions = 0
        self.defaults = 0

    # ---- life

    async def run(self) -> None:
        """
        Play until :meth:`stop`, or until :meth:`drain` and the last match are over.

        Raises:
            SessionError: the token was refused, the host cannot be reached, or it ended the
                session for good.
        """
        started = time.monotonic()
        failures = 0
        while not self._stopped.is_set():
            self._welcomed = False
            status, details = self._as_said(*await self._stream())
            if self._stopped.is_set() or (self._draining and not (self._channels or self._held)):
                return
            if status in _FINAL:
                raise SessionError(self._final_text(status, details), _FINAL[status])
            if self._welcomed:
                failures, started = 0, time.monotonic()
                self._wait_s = None  # It was there: wait for it to come back.
            else:
                details = with_tls_hint(details, self._server, self._tls)
            if self._draining:
                self._wait_s = _DRAIN_AWAY_S
            if self._wait_s is not None and time.monotonic() - started > self._wait_s:
                raise SessionError(f"cannot reach {self._server}: {details or status.name}", EXIT_UNREACHABLE)
            # All bots of a host that stops are told the same.
            told_s = None if self._pause_s is None else self._pause_s * (1 + random.random())
            pause = told_s if told_s is not None else backoff(failures, random.random())
            self._pause_s = None
            failures += 1
            ended = "the host ended it" if status == grpc.StatusCode.OK else status.name
            why = f"{ended}: {details}" if details else ended
            log.warning("stream to %s ended (%s); again in %.1f s", self._server, why, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), pause)

    def drain(self) -> None:
        """Finish the matches that run, take no new ones, then stop."""
        self._draining = True
        self._send(availability=session_pb2.Availability(max_matches=0, draining=True))
        if not self._channels and not self._held:
            self.stop()

    def stop(self) -> None:
        """Leave at once."""
        self._stopped.set()
        self._wake.set()

    def _as_said(self, status: grpc.StatusCode, details: str) -> tuple[grpc.StatusCode, str]:
        """How a stream ended, by the host's last word where its status was lost."""
        word = self._last_word.warning if self._last_word is not None else None
        if word is None or status in _FINAL or word.reason not in _FINAL_WORDS:
            return status, details
        codes = {code.value[0]: code for code in grpc.StatusCode}
        return codes[word.code], f"{word.reason}: {word.message}"

    def _final_text(self, status: grpc.StatusCode, details: str) -> str:
        if status in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            return f"{self._server} does not accept the token: {details or status.name}"
        return f"{self._server} ended the session ({status.name}): {details}"

    async def _stream(self) -> tuple[grpc.StatusCode, str]:
        """One stream from Hello to its end; how it ended."""
        self._held |= {channel.token: channel for channel in self._channels.values()}
        self._channels = {}
        self._last_word = None
        self._out = [session_pb2.ClientMessage(hello=self._hello())]
        # A wake of its own: the writer of a stream that was lost must not take this stream's Hello.
        self._wake.set()
        self._wake = asyncio.Event()
        self._wake.set()
        metadata = (("authorization", f"Bearer {self._token}"),)
        async with open_channel(self._server, self._tls, SESSION_OPTIONS) as connection:
            stub: Any = session_pb2_grpc.BotSessionServiceStub(connection)
            call = stub.OpenSession(self._frames(), metadata=metadata)
            tasks = [
                asyncio.ensure_future(self._read(call)),
                asyncio.ensure_future(self._stopped.wait()),
                asyncio.ensure_future(self._watch()),
            ]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    if task.done() and (error := task.exception()) is not None:
                        if isinstance(error, grpc.aio.AioRpcError):
                            return error.code(), error.details() or ""
                        raise error
                if tasks[2].done():
                    return grpc.StatusCode.UNAVAILABLE, "no word or no answer for three ping intervals"
                if tasks[1].done():
                    return grpc.StatusCode.OK, ""
                return await call.code(), await call.details() or ""
            finally:
                call.cancel()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def _hello(self) -> session_pb2.Hello:
        cursors = [
            session_pb2.Hello.Cursor(
                match=c.match, seat=wire.seat_to_wire(c.seat), seat_token=c.token, last_seq=c.seq
            )
            for c in self._held.values()
        ]  # fmt: skip
        hello = session_pb2.Hello(
            api_minor=0,
            sdk=f"chaodipi-sdk/{_version()}",
            language=f"python/{sys.version_info.major}.{sys.version_info.minor}",
            bot_version=str(getattr(self._bot, "version", "") or self._bot.__name__)[:50],
            instance=self._instance,
            resume_token=self._resume_token,
            cursors=cursors,
            ruleset_digests={name: resolve(name).digest for name in preset_names()},
        )
        while hello.cursors and hello.ByteSize() > self._frame_bytes - 16:
            del hello.cursors[-1 - len(hello.cursors) // 8 :]  # the host gives those seats back too, from their start
        return hello

    # ---- the two ends of the stream

    async def _frames(self) -> AsyncIterator[session_pb2.OpenSessionRequest]:
        """What is queued, in one frame if it fits; this is the one writer."""
        wake = self._wake
        while not self._stopped.is_set():
            await wake.wait()
            # Let everything that is ready now put its messages in before the batch is taken.
            await asyncio.sleep(0)
            if wake is not self._wake:
                return  # another stream has begun
            wake.clear()
            batch, self._out = self._out, []
            for frame in frames(batch, self._frame_bytes):
                yield frame

    def _send(self, **body: Any) -> None:
        self._out.append(session_pb2.ClientMessage(**body))
        self._wake.set()

    async def _read(self, call: Any) -> None:
        async for frame in call:
            self._quiet_s = 0.0
            for index, message in enumerate(frame.messages):
                self._take(message)
                if index & 7 == 7:
                    await asyncio.sleep(0)  # answers leave while a long frame is worked on

    async def _watch(self) -> None:
        """
        End when one way is dead: for three ping intervals nothing came, or a ping of ours was not answered.

        A path that is dead towards the host only still brings its pings. Time is counted in wake-ups, so that a bot
        that blocks the loop while it thinks does not take what waits to be read for silence.
        """
        self._silence_s = self._quiet_s = pinged_s = 0.0
        self._unanswered_s = None
        while True:
            before = time.monotonic()
            await asyncio.sleep(_WATCH_S)
            self._loop_lag_ms = max(0, int((time.monotonic() - before - _WATCH_S) * 1000))
            # Welcome itself may be what is lost.
            limit_s = self._silence_s if self._welcomed else _WELCOME_S
            if not limit_s:
                continue
            self._quiet_s += _WATCH_S
            pinged_s += _WATCH_S
            if self._unanswered_s is not None:
                self._unanswered_s += _WATCH_S
            elif self._welcomed and pinged_s >= limit_s / 3:
                pinged_s, self._unanswered_s = 0.0, 0.0
                self._send(ping=session_pb2.Ping())
            if max(self._quiet_s, self._unanswered_s or 0.0) > limit_s:
                return

    # ---- messages

    def _take(self, message: session_pb2.ServerMessage) -> None:
        kind = message.WhichOneof("body")
        self._last_word = message if kind == "warning" else None
        if kind == "seat_update":
            self._seat_update(message.seat_update)
        elif kind == "answer_result":
            self._answer_result(message.answer_result)
        elif kind == "ping":
            self._send(pong=session_pb2.Pong(nonce=message.ping.nonce, loop_lag_ms=self._loop_lag_ms))
        elif kind == "pong":
            self._unanswered_s = None
            self._all_resumed()
        elif kind == "seat_assigned":
            self._seat_assigned(message.seat_assigned)
        elif kind == "seat_ended":
            self._seat_ended(message.seat_ended)
        elif kind == "welcome":
            self._welcome(message.welcome)
        elif kind == "nonce_request":
            entry = message.nonce_request.entry
            nonce = self._nonces.give(entry, message.nonce_request.seed_commitment)
            self._send(entry_nonce=session_pb2.EntryNonce(entry=entry, nonce=nonce))
        elif kind == "draining":
            self._pause_s = message.draining.reconnect_after_ms / 1000
            log.info("the host stops within %d ms", message.draining.stop_within_ms)
        elif kind == "warning":
            log.warning("host: %s (%s)", message.warning.message, message.warning.reason)

    def _welcome(self, welcome: session_pb2.Welcome) -> None:
        if not self._welcomed:
            log.info("playing as %s on %s (host %s)", welcome.bot, self._server, welcome.server_version)
        self._welcomed = True
        self._resume_token = welcome.resume_token
        self._silence_s = 3 * welcome.ping_interval_ms / 1000
        self._frame_bytes = min(FRAME_BYTES, welcome.limits.max_frame_bytes or FRAME_BYTES)
        self._note_bytes = welcome.limits.max_debug_note_bytes or FRAME_BYTES
        most = min(self._max_matches, welcome.limits.max_matches or self._max_matches)
        wanted = 0 if self._draining else most
        self._send(availability=session_pb2.Availability(max_matches=wanted, draining=self._draining))
        # Its Pong comes after the seats that go on here.
        self._unanswered_s = 0.0
        self._send(ping=session_pb2.Ping())

    def _all_resumed(self) -> None:
        """The host has given back what it knows of the streams before."""
        self._held.clear()
        if self._draining and not self._channels:
            self.stop()

    def _seat_assigned(self, assigned: session_pb2.SeatAssigned) -> None:
        seat = wire.seat_from_wire(assigned.seat)
        if assigned.address or seat is None:
            log.warning("cannot play %s: it runs at %r", assigned.match.name, assigned.address)
            return
        channel = self._held.pop(assigned.seat_token, None) if assigned.resumed else None
        if channel is None:
            try:
                ruleset = ruleset_from_match(assigned.match)
            except EngineError as error:
                self._leave(assigned.channel, f"{error}")
                return
            bot = self._bot(assigned.match.name, seat)
            channel = _Channel(assigned.channel, assigned.match.name, seat, assigned.seat_token, ruleset, bot)
        channel.number = assigned.channel
        self._channels[assigned.channel] = channel
        if not assigned.resumed or assigned.ready_within_ms:
            self._send(seat_ready=session_pb2.SeatReady(channel=assigned.channel))

    def _leave(self, number: int, reason: str) -> None:
        log.error("leaving a match: %s", reason)
        self._send(leave_match=session_pb2.LeaveMatch(channel=number, reason=reason[:200]))

    def _seat_ended(self, ended: session_pb2.SeatEnded) -> None:
        self._channels.pop(ended.channel, None)
        if self._draining and not self._channels:
            self.stop()

    def _seat_update(self, update: session_pb2.SeatUpdate) -> None:
        channel = self._channels.get(update.channel)
        if channel is None:
            return
        if update.HasField("snapshot"):
            channel.view = wire.view_from_snapshot(update.snapshot, channel.ruleset)
            channel.seq, channel.deal, channel.lost = update.snapshot.seq, update.snapshot.deal, False
        for message in update.events:
            if not self._event(channel, message):
                return
        if not update.HasField("decision"):
            return
        request = update.decision
        if request.as_of_seq > channel.seq:
            self._resync(channel)
            return
        self._decide(channel, request)

    def _event(self, channel: _Channel, message: seat_pb2.SeatEvent) -> bool:
        """Take one event in; False where events are missing."""
        if message.seq <= channel.seq:
            return True  # told again after a reconnect
        if message.seq != channel.seq + 1:
            self._resync(channel)
            return False
        channel.seq, channel.lost = message.seq, False
        event = wire.event_from_wire(message, channel.view)
        if event is None:
            return True
        if isinstance(event, DealStarted):
            channel.deal = message.deal_started.deal
            channel.view = View(channel.ruleset, channel.seat)
        channel.view.apply(event)
        try:
            channel.bot.on_event(event, channel.view)
            if isinstance(event, DealEnded):
                channel.bot.on_deal_end(event, channel.view)
        except Exception:
            log.exception("%s seat %s: on_event failed", channel.match, channel.seat)
        return True

    def _resync(self, channel: _Channel) -> None:
        if not channel.lost:
            channel.lost = True
            log.warning("%s seat %s: events are missing after %d", channel.match, channel.seat, channel.seq)
            self._send(resync=session_pb2.Resync(channel=channel.number, last_seq=channel.seq))

    def _decide(self, channel: _Channel, request: seat_pb2.DecisionRequest) -> None:
        decision = Decision(
            channel.view,
            match=channel.match,
            deal=channel.deal,
            attempt=max(1, request.attempt),
            time_left_ms=request.time_left_ms,
            bank_left_ms=request.bank_left_ms,
            last_charged_ms=channel.charged_ms,
        )
        action = self._answer(channel, decision)
        self.decisions += 1
        answer = session_pb2.Answer(
            channel=channel.number,
            decision_id=request.decision_id,
            action=wire.action_to_wire(action),
            debug_note=self._note_of(channel, decision.note),
        )
        self._send(answer=answer)

    def _note_of(self, channel: _Channel, note: str) -> str:
        """*note*, or nothing where the host takes no note of this length."""
        size = len(note.encode(errors="replace"))
        if size <= self._note_bytes:
            return note
        text = "%s seat %s: a note of %d bytes is left out, the host takes %d"
        log.warning(text, channel.match, channel.seat, size, self._note_bytes)
        return ""

    def _answer(self, channel: _Channel, decision: Decision) -> Action:
        """The bot's action, or the default one where it fails or is refused."""
        if decision.attempt == 1:
            try:
                action = channel.bot.decide(decision)
                decision.check(action)
                return action
            except EngineError as error:
                where = f"{channel.match} deal {channel.deal} seat {channel.seat}"
                log.warning("%s: %s: %s; the default is played", where, error.reason, error)
            except Exception:
                log.exception("%s deal %d seat %s: handler failed", channel.match, channel.deal, channel.seat)
        self.defaults += 1
        return default_action(channel.view, channel.seat)

    def _answer_result(self, result: session_pb2.AnswerResult) -> None:
        channel = self._channels.get(result.channel)
        if channel is not None:
            channel.charged_ms = result.charged_ms
        status = session_pb2.AnswerResult
        if result.status in (status.STATUS_RETRY, status.STATUS_REPLACED, status.STATUS_TOO_LATE):
            name = status.Status.Name(result.status)
            log.warning("channel %d: %s %s", result.channel, name, result.problem.message)


def _version() -> str:
    try:
        return version("chaodipi-sdk")
    except PackageNotFoundError:
        return "0"
