"""A table to be played and what became of it: the values between scheduler and host."""

from collections.abc import Callable
from dataclasses import dataclass, field

from chaodipi.engine.actions import Action
from chaodipi.engine.cards import Rank, Seat, Side
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import Settlement
from chaodipi.engine.setup import Setup
from chaodipi.service.match.clock import TimeControl

__all__ = ["ENDINGS", "BookedFault", "DecisionRecord", "TableResult", "TableSpec", "TimeControl"]


ENDINGS = ("played", "jump", "no_declaration", "forfeit", "host_fault")
"""How a table may end, see :class:`TableResult`."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """
    A board with a seating.

    Attributes:
        table_id: Deterministic and unique, for example ``league/0003/a-b/1``; the key of its result.
        setup: The board's setup after *redeals* redeals (0, 1, …); pure, so a replay gets the same.
        bots: The bot at each seat, 0…3.
        mode: How breaches are met: ``prevent``, they are refused; ``penalise``, a referee books them as well (Q94).
        board_commitment: SHA-256 (32 bytes) that commits to the board's seed; shown to the seats.
    """

    table_id: str
    ruleset: Ruleset
    setup: Callable[[int], Setup]
    bots: tuple[str, str, str, str]
    time: TimeControl = field(default_factory=TimeControl)
    board_commitment: bytes = b""
    mode: str = "prevent"


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision: who acted how, how long it took, and whether the host acted for the seat.

    ``redeals`` tells in which shuffle; ``fault`` is "" or illegal, malformed, timeout, disconnected, not_ready.
    ``refused``: the action was not done, but a referee booked the breach. ``decision``: of its seat, 0 where nobody was
    asked, as nobody is while the seat is lost; no part of a record.
    """

    seat: Seat
    action: Action
    redeals: int
    think_ms: int = 0
    by_host: bool = False
    fault: str = ""
    refused: bool = False
    decision: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class BookedFault:
    """A fault as it was counted: in which shuffle, and at which decision of its seat (0: none was open)."""

    seat: Seat
    kind: str
    redeals: int
    decision: int


@dataclass(frozen=True, slots=True)
class TableResult:
    """
    What became of a table.

    Attributes:
        how: played, jump (not played: a referee let the opponents of a false showing jump),
            no_declaration (redeal cap, margin 0), forfeit, or host_fault (never scored).
        score: The catchers' final score (0 unless played).
        settlement: What the deal changed; None unless played or jump.
        decisions: All decisions in order, enough to replay the table from its setup.
        faults: Seat → kind of fault → count.
        strays: Seat → late, duplicate or stale answers → count. No faults, and not in a record's canonical part: when
            a stream breaks, an answer may come twice.
        booked: The faults in order, for the log.
        levels: Levels of sides 02 and 13 in this deal; None on the flag.
        forfeiting_seat: The seat whose faults forfeited the table; None unless ``how`` is forfeit.
    """

    table_id: str
    how: str
    score: int
    dealer: Seat | None
    settlement: Settlement | None
    decisions: tuple[DecisionRecord, ...]
    faults: dict[Seat, dict[str, int]] = field(default_factory=dict)
    strays: dict[Seat, dict[str, int]] = field(default_factory=dict, compare=False)
    booked: tuple[BookedFault, ...] = field(default=(), compare=False)
    forfeiting_seat: Seat | None = None
    levels: tuple[Rank | None, Rank | None] = (Rank.TWO, Rank.TWO)
    note: str = ""

    @property
    def forfeiting_side(self) -> Side | None:
        """The side that forfeited, None if none did."""
        return None if self.forfeiting_seat is None else self.forfeiting_seat.side
