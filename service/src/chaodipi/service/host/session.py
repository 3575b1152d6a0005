"""A bot's session as the host sees it: its channels, and what waits to be sent. No protobuf."""

import asyncio
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chaodipi.engine.actions import ActionKind, Show
from chaodipi.engine.cards import Seat
from chaodipi.engine.follow import ChoiceSet
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.match.messages import Ended, Update, Verdict
from chaodipi.service.match.table import TableSpec

if TYPE_CHECKING:
    from chaodipi.service.host.runner import SeatLink

__all__ = [
    "Assigned",
    "Cursor",
    "Draining",
    "Encode",
    "Greeting",
    "Legal",
    "NonceAsked",
    "Outgoing",
    "PingSent",
    "PongSent",
    "SeatMessage",
    "Session",
    "Unplaced",
    "Warned",
]

MAX_QUEUE_BYTES = 4 << 20
SEAT_QUEUE_BYTES = 32 << 10
"""What may wait for a slow reader before its session is closed: so much, and this for each seat it holds, which is more
than all that a seat is told of a table."""
PATIENCE_S = 60.0
"""How long a Ping may stay without a Pong, besides the time that the bot may think at its tables."""
_OVERHEAD_BYTES = 64
"""What a message costs in memory besides its bytes."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a bot got in one seat of one table, see ``Hello.Cursor``."""

    seat_token: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a bot says of itself when it opens a session, see ``Hello``."""

    instance: str = ""
    bot_version: str = ""
    sdk: str = ""
    language: str = ""
    legal: bool = False
    immediate: bool = False
    resume_token: str = ""
    cursors: tuple[Cursor, ...] = ()
    ruleset_digests: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assigned:
    """A seat for this session; ``ready_within_ms`` 0: already ready."""

    channel: int
    spec: TableSpec
    seat: Seat
    seat_token: str
    ready_within_ms: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class Legal:
    """All legal actions of a decision, as they were when it was asked."""

    shows: tuple[Show, ...]
    passing: bool
    kind: ActionKind
    sets: tuple[ChoiceSet, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class SeatMessage:
    """A message of a table's machine, for one channel."""

    channel: int
    spec: TableSpec
    message: Update | Verdict | Ended
    legal: Legal | None = None


@dataclass(frozen=True, slots=True)
class Unplaced:
    """The verdict on an answer for a channel that is not open: usually it crossed the end of its table."""

    channel: int
    decision: int


@dataclass(frozen=True, slots=True)
class PingSent:
    nonce: int


@dataclass(frozen=True, slots=True)
class PongSent:
    nonce: int


@dataclass(frozen=True, slots=True)
class NonceAsked:
    """An entry's share in the seeds is asked for, to come within so many milliseconds."""

    entry: str
    seed_commitment: bytes
    within_ms: int


@dataclass(frozen=True, slots=True)
class Draining:
    """The host stops within so many milliseconds."""

    stop_within_ms: int


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that the bot's author should know; the session goes on."""

    code: int
    reason: str
    message: str
    metadata: dict[str, str] = field(default_factory=dict)


Outgoing = Assigned | SeatMessage | Unplaced | PingSent | PongSent | NonceAsked | Draining | Warned

Encode = Callable[[Outgoing], tuple[Any, int]]
"""A message as it is sent, and its bytes."""


class Session:
    """
    One open stream of one bot.

    Attributes:
        wanted: Seats that the bot would take at the same time, 0 until it says so.
        max_tables: Of those, the seats that it may have by its token's quota.
        channels: Seats held, by channel.
        cursors: Seat token → last event that the bot holds, of seats that it has not got back yet.
        pinged: Nonce of the last ping, None once it is answered.
        pinged_at: When the first of those that are not answered was sent, on the loop's clock.
        refusal: Why the session was closed; None if it is open or ended in order.
    """

    def __init__(self, bot: str, greeting: Greeting, token_id: str, encode: Encode) -> None:
        """What waits is kept as *encode* makes it, so that its bytes are known."""
        self.bot = bot
        self._encode = encode
        self.token_id = token_id
        self.id = secrets.token_hex(8)
        self.resume_token = secrets.token_urlsafe(18)
        self.greeting = greeting
        # A bot that names no instance is a worker of its own.
        self.instance = greeting.instance or f"#{self.id}"
        self.wanted = 0
        self.max_tables = 0
        self.channels: dict[int, SeatLink] = {}
        self.cursors = {cursor.seat_token: cursor.last_seq for cursor in greeting.cursors}
        self.pinged: int | None = None
        self.pinged_at = 0.0
        self.closed = False
        self.refusal: SessionRefused | None = None
        self._last_channel = 0
        self._waiting: list[tuple[Any, int]] = []
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def free(self) -> int:
        """Seats that may be assigned now."""
        return 0 if self.closed else max(0, self.max_tables - len(self.channels))

    @property
    def queued_bytes(self) -> int:
        """Bytes that wait to be sent."""
        return self._queued_bytes

    @property
    def max_queued_bytes(self) -> int:
        """Bytes that may wait to be sent."""
        return MAX_QUEUE_BYTES + SEAT_QUEUE_BYTES * len(self.channels)

    @property
    def patience_s(self) -> float:
        """
        Seconds without a Pong after which the bot counts as one that does not read.

        A bot may block its loop for as long as it may think; at an untimed table, for ever.
        """
        longest = (link.runner.spec.time.longest_decision_ms for link in self.channels.values())
        return PATIENCE_S + max((math.inf if ms is None else ms / 1000 for ms in longest), default=0.0)

    def new_channel(self) -> int:
        """A channel number, never used before in this session."""
        self._last_channel += 1
        return self._last_channel

    def send(self, message: Outgoing) -> None:
        """Queue *message*; a session whose bot does not read is closed with SLOW_CONSUMER."""
        if self.closed:
            return
        self._queue(message)
        if self._queued_bytes > self.max_queued_bytes:
            text = f"{self._queued_bytes} bytes wait to be read, at most {self.max_queued_bytes}"
            metadata = {"bytes": str(self._queued_bytes), "limit": str(self.max_queued_bytes)}
            self.close(SessionRefused(8, "SLOW_CONSUMER", f"the bot does not read what it is sent: {text}", metadata))
            return
        self._wake.set()

    def _queue(self, message: Outgoing) -> None:
        encoded = self._encode(message)
        self._waiting.append(encoded)
        self._queued_bytes += encoded[1] + _OVERHEAD_BYTES

    def close(self, refusal: SessionRefused | None = None) -> None:
        """End the session; the writer sends what waits, then ends the call, with *refusal* if there is one."""
        if not self.closed:
            self.closed = True
            self.refusal = refusal
            if refusal is not None:
                # Said in band too: a client that writes while the call ends may miss its status.
                self._queue(Warned(refusal.code, refusal.reason, refusal.message, refusal.metadata))
        self._wake.set()
        self._ended.set()

    async def wait_closed(self) -> None:
        """Wait until the session is closed, from whichever end."""
        await self._ended.wait()

    async def batch(self) -> list[tuple[Any, int]]:
        """
        All that waits, encoded, at least one message; empty when the session is closed and nothing waits.

        Gives the loop one pass before it takes the batch, so that what is about to be queued goes
        into the same frame.
        """
        await self._wake.wait()
        await asyncio.sleep(0)
        batch, self._waiting = self._waiting, []
        self._queued_bytes = 0
        if not self.closed:
            self._wake.clear()
        return batch
