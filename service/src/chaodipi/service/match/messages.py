"""What the machine of a table says to its seats: updates, verdicts and the end, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from chaodipi.engine.actions import Action, ActionKind
from chaodipi.engine.cards import Seat
from chaodipi.engine.events import Booked, Event, Phase
from chaodipi.engine.scoring import Settlement
from chaodipi.engine.view import View
from chaodipi.service.match.table import TableResult

__all__ = [
    "Decision",
    "Ended",
    "FaultRecorded",
    "Message",
    "Numbered",
    "Outcome",
    "PresenceChanged",
    "Update",
    "Verdict",
    "VerdictStatus",
]


class VerdictStatus(IntEnum):
    """What became of an answer; the numbers are the wire's."""

    ACCEPTED = 1
    DUPLICATE = 2
    RETRY = 3
    REPLACED = 4
    TOO_LATE = 5
    STALE = 6


@dataclass(frozen=True, slots=True)
class FaultRecorded:
    """*seat* committed a fault; *faults* counts all of this seat at this table. Public."""

    seat: Seat
    fault: str
    faults: int


@dataclass(frozen=True, slots=True)
class PresenceChanged:
    """The bot of *seat* went or came; the other three are told, at most once a second."""

    seat: Seat
    connected: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What belongs to the end of a played deal: what it changed, whose deal it was, what was booked."""

    settlement: Settlement
    dealer: Seat
    bookings: tuple[Booked, ...]


@dataclass(frozen=True, slots=True)
class Numbered:
    """
    One event as a seat may know it.

    Attributes:
        seq: 1, 2, 3 … without gaps for each seat, redeals included.
        by_host: The host acted in the seat's place.
        outcome: With the end of a played deal only.
    """

    seq: int
    event: Event | FaultRecorded | PresenceChanged
    by_host: bool = False
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """
    One request to one seat.

    Attributes:
        decision: One-time key, 1, 2, 3 … for each seat.
        as_of_seq: The last event that was delivered before it.
        time_left_ms: Milliseconds to answer, from receipt; 0: untimed.
        card_count: Cards that a burial or a follow must have, 0 where free.
        attempt: 1, and one more after each RETRY.
        bank_left_ms: Milliseconds of ``time_left_ms`` that are the time bank.
    """

    decision: int
    phase: Phase
    allowed: tuple[ActionKind, ...]
    as_of_seq: int
    time_left_ms: int
    card_count: int
    attempt: int
    bank_left_ms: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """
    Events for *seat*, then what it is asked now, if anything; atomic.

    Attributes:
        closed: A decision that is no longer open; 0: none.
        snapshot: What replaces all events up to *seq*: the seat's view of the deal; None: nothing does.
    """

    seat: Seat
    events: tuple[Numbered, ...]
    decision: Decision | None = None
    closed: int = 0
    snapshot: View | None = None
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    The verdict on one answer.

    Attributes:
        reason: Stable reason, "" for ACCEPTED. ``message`` is for people, ``metadata`` its values.
        think_ms: From the request to this answer as the host saw it, nothing taken off; not sent.
        applied: What the host did in the seat's place (REPLACED, TOO_LATE); None if the fault forfeited the table.
        attempts_left: Answers that may still be tried (RETRY).
        bank_left_ms: What is left in the time bank.
    """

    seat: Seat
    decision: int
    status: VerdictStatus
    charged_ms: int = 0
    reason: str = ""
    message: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    applied: Action | None = None
    attempts_left: int = 0
    bank_left_ms: int = 0
    think_ms: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """The table is over for *seat*; the last message that it gets."""

    seat: Seat
    result: TableResult


Message = Update | Verdict | Ended
