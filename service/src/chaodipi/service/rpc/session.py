"""BotSessionService: one reader and one writer for each stream, and frames in between."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import grpc
import structlog
from chaodipi.engine.errors import MalformedError
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.sdk.wire import action_from_wire
from chaodipi.service import convert
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.host import Host
from chaodipi.service.host.quota import Usage
from chaodipi.service.host.session import Outgoing, PongSent, Session, Unplaced, Warned
from chaodipi.service.rpc.gate import Unreadable, principal
from chaodipi.service.rpc.greeting import greeting_of
from chaodipi.service.version import API_MINOR, CAPABILITIES, OLDEST_SDK, sdk_too_old, server_version
from chaodipi.v1 import session_pb2, session_pb2_grpc

__all__ = ["MAX_FRAME_BYTES", "BotSessionService"]

log = structlog.get_logger("chaodipi.rpc")

MAX_FRAME_BYTES = 256 * 1024
MAX_FRAME_MESSAGES = 16_384
MAX_DEBUG_NOTE_BYTES = 4096
MAX_REASON_BYTES = 200
MAX_AT_ONCE = 64
"""Messages of one frame that are taken before everybody else on this host has his turn."""
HELLO_TIMEOUT_S = 30.0
LAST_FRAME_S = 1.0


class BotSessionService(session_pb2_grpc.BotSessionServiceServicer):
    """Where bots play."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def OpenSession(self, request_iterator: Any, context: Any) -> None:  # type: ignore[override]
        """Carry one session from Hello to its end."""
        host = self._host
        caller = principal()
        usage = host.usage(caller)
        first = await _first_frame(context, usage)
        _check_sdk(first[0].hello)
        session = host.open_session(caller, greeting_of(first[0].hello), _encoded)
        # Before the reader may take the bot's availability in: seats that it names go on where it stands.
        host.resume(session)
        _warn_of_rulesets(session)
        reader = asyncio.create_task(self._read(session, context, first, usage))
        writer = asyncio.create_task(self._write(session, context, self._welcome(session, first[0].hello)))
        try:
            await session.wait_closed()
            # A bot that does not read would hold the last frame back for ever.
            await asyncio.wait([writer], timeout=LAST_FRAME_S)
        finally:
            host.close_session(session)
            reader.cancel()
            writer.cancel()
            await asyncio.wait([reader, writer])
        if session.refusal is not None:
            raise session.refusal

    # ---- in

    async def _read(self, session: Session, context: Any, first: list[session_pb2.ClientMessage], usage: Usage) -> None:
        """The only reader of a stream; its end ends the session."""
        try:
            await self._receive_all(session, first[1:], usage)
            while not session.closed and (frame := await context.read()) is not grpc.aio.EOF:
                usage.frame(_size(frame), len(frame.messages), time.monotonic())
                self._host.metrics.frame_in(len(frame.messages))
                await self._receive_all(session, frame.messages, usage)
        except SessionRefused as error:
            session.close(error)
        except asyncio.CancelledError:
            raise
        except grpc.aio.InternalError:
            log.info("stream_lost", session=session.id, bot=session.bot)
        except Exception:
            log.exception("reader_failed", session=session.id, bot=session.bot)
            session.close(SessionRefused(13, "HOST_FAULT", "an internal error of the host"))
        finally:
            session.close()

    async def _receive_all(self, session: Session, messages: Sequence[session_pb2.ClientMessage], usage: Usage) -> None:
        """All of a frame, with a pass of the loop in between: nobody else waits for a frame of thousands."""
        for number, message in enumerate(messages, 1):
            if session.closed:
                return
            self._receive(session, message, usage)
            if number % MAX_AT_ONCE == 0 or message.HasField("resync"):
                await asyncio.sleep(0)

    def _receive(self, session: Session, message: session_pb2.ClientMessage, usage: Usage) -> None:
        host = self._host
        kind = message.WhichOneof("body")
        if kind == "answer":
            self._answer(session, message.answer)
        elif kind == "seat_ready":
            host.receive_ready(session, message.seat_ready.channel)
        elif kind == "availability":
            host.receive_availability(session, message.availability.max_matches, message.availability.draining)
        elif kind == "ping":
            session.send(PongSent(message.ping.nonce))
        elif kind == "pong":
            host.receive_pong(session, message.pong.nonce, message.pong.loop_lag_ms)
        elif kind == "resync":
            usage.resync(time.monotonic())
            host.receive_resync(session, message.resync.channel, message.resync.last_seq)
        elif kind == "leave_match":
            self._leave(session, message.leave_match)
        elif kind == "entry_nonce":
            host.receive_nonce(session, message.entry_nonce.entry, message.entry_nonce.nonce)
        elif kind == "hello" or kind is None:
            got = kind or "a message with no body"
            raise SessionRefused(9, "PROTOCOL_VIOLATION", f"not expected: {got}", {"got": got})

    def _leave(self, session: Session, leave: session_pb2.LeaveMatch) -> None:
        size = len(leave.reason.encode())
        if size > MAX_REASON_BYTES:
            text = f"leave_match.reason has {size} bytes, at most {MAX_REASON_BYTES}; it was left out"
            session.send(Warned(3, "FIELD_INVALID", text, {"field": "leave_match.reason", "bytes": str(size)}))
        reason = leave.reason if size <= MAX_REASON_BYTES else ""
        self._host.receive_leave(session, leave.channel, reason)

    def _answer(self, session: Session, answer: session_pb2.Answer) -> None:
        note = len(answer.debug_note.encode())
        if note > MAX_DEBUG_NOTE_BYTES:
            text = f"answer.debug_note has {note} bytes, at most {MAX_DEBUG_NOTE_BYTES}; it was left out"
            session.send(Warned(3, "NOTE_TOO_LARGE", text, {"field": "answer.debug_note", "bytes": str(note)}))
        action: Any
        try:
            action = action_from_wire(answer.action)
        except MalformedError as error:
            action = error
        if not self._host.receive_answer(session, answer.channel, answer.decision_id, action):
            session.send(Unplaced(answer.channel, answer.decision_id))

    # ---- out

    def _welcome(self, session: Session, hello: session_pb2.Hello) -> session_pb2.ServerMessage:
        return session_pb2.ServerMessage(
            welcome=session_pb2.Welcome(
                session=session.id,
                bot=f"bots/{session.bot}",
                api_minor=min(hello.api_minor, API_MINOR),
                capabilities=[name for name in CAPABILITIES if name in hello.capabilities],
                server_version=server_version(),
                resume_token=session.resume_token,
                resume_window_ms=int(self._host.resume_window_s * 1000),
                ping_interval_ms=self._host.ping_interval_ms,
                limits=session_pb2.SessionLimits(
                    max_matches=self._host.most_tables,
                    max_frame_bytes=MAX_FRAME_BYTES,
                    max_debug_note_bytes=MAX_DEBUG_NOTE_BYTES,
                ),
            )
        )

    async def _write(self, session: Session, context: Any, welcome: session_pb2.ServerMessage) -> None:
        """The only writer of a stream; its end, whatever the reason, ends the session."""
        try:
            await context.write(session_pb2.OpenSessionResponse(messages=[welcome]))
            await self._write_frames(session, context)
        except asyncio.CancelledError:
            raise
        except grpc.aio.InternalError:
            log.info("stream_lost", session=session.id, bot=session.bot)
        except Exception:
            log.exception("writer_failed", session=session.id, bot=session.bot)
            session.close(SessionRefused(13, "HOST_FAULT", "an internal error of the host"))
        finally:
            session.close()

    async def _write_frames(self, session: Session, context: Any) -> None:
        """All that waits goes into one frame, up to its limit."""
        metrics = self._host.metrics
        while batch := await session.batch():
            frame = session_pb2.OpenSessionResponse()
            size = 0
            for message, length in batch:
                if size + length > MAX_FRAME_BYTES and frame.messages:
                    await context.write(frame)
                    metrics.frame_out(len(frame.messages))
                    frame = session_pb2.OpenSessionResponse()
                    size = 0
                frame.messages.append(message)
                size += length
            await context.write(frame)
            metrics.frame_out(len(frame.messages))


def _encoded(outgoing: Outgoing) -> tuple[session_pb2.ServerMessage, int]:
    """A message as it is sent, and its bytes in a frame."""
    message = convert.outgoing_to_wire(outgoing)
    return message, message.ByteSize() + 8


def _size(frame: Any) -> int:
    """
    Bytes of a frame.

    Raises:
        SessionRefused: FIELD_INVALID: the bytes are no frame, or FRAME_TOO_LARGE.
    """
    if isinstance(frame, Unreadable):
        raise SessionRefused(3, "FIELD_INVALID", f"a frame of {frame.size} bytes that are no frame")
    size: int = frame.ByteSize()
    if size > MAX_FRAME_BYTES:
        text = f"a frame of {size} bytes, at most {MAX_FRAME_BYTES}"
        raise SessionRefused(3, "FRAME_TOO_LARGE", text, {"bytes": str(size), "limit": str(MAX_FRAME_BYTES)})
    count = len(frame.messages)
    if count > MAX_FRAME_MESSAGES:
        text = f"a frame of {count} messages, at most {MAX_FRAME_MESSAGES}"
        raise SessionRefused(3, "FRAME_TOO_LARGE", text, {"messages": str(count), "limit": str(MAX_FRAME_MESSAGES)})
    return size


async def _first_frame(
    context: Any, usage: Usage, timeout_s: float = HELLO_TIMEOUT_S
) -> list[session_pb2.ClientMessage]:
    """The messages of the first frame, of which the first one is Hello."""
    try:
        async with asyncio.timeout(timeout_s):
            frame = await context.read()
    except TimeoutError:
        raise SessionRefused(9, "HELLO_REQUIRED", "the first message must be Hello") from None
    if frame is not grpc.aio.EOF:
        usage.frame(_size(frame), len(frame.messages), time.monotonic())
    messages = [] if frame is grpc.aio.EOF else list(frame.messages)
    if not messages or messages[0].WhichOneof("body") != "hello":
        got = (messages[0].WhichOneof("body") if messages else None) or "nothing"
        raise SessionRefused(9, "HELLO_REQUIRED", f"the first message must be Hello, not {got}", {"got": str(got)})
    return messages


def _check_sdk(hello: session_pb2.Hello) -> None:
    """
    Do nothing unless the bot has a version of our SDK that this host does not speak with any more.

    Raises:
        SessionRefused: SDK_TOO_OLD, naming both versions; the bot's mistake.
    """
    got = sdk_too_old(hello.sdk)
    if got is not None:
        text = f"chaodipi-sdk {got} is too old for this host ({server_version()}): {OLDEST_SDK} or newer expected"
        metadata = {"got": got, "minimum": OLDEST_SDK, "host": server_version()}
        raise SessionRefused(9, "SDK_TOO_OLD", text, metadata)


def _warn_of_rulesets(session: Session) -> None:
    """Tell the bot which of its rulesets have other values here."""
    for name, digest in session.greeting.ruleset_digests.items():
        short = name.removeprefix("rulesets/")
        if short in preset_names() and resolve(short).digest != digest:
            ours = resolve(short).digest
            session.send(Warned(9, "RULESET_MISMATCH", f"{short} has other values here", {"digest": ours}))
