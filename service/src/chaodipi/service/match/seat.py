"""What the machine of a table keeps of one seat, and of the decision that is open."""

from dataclasses import dataclass

from chaodipi.engine.actions import Action
from chaodipi.engine.cards import Seat
from chaodipi.service.match.clock import SeatClock, TimeControl
from chaodipi.service.match.messages import Numbered, VerdictStatus

__all__ = ["Asked", "Closed", "SeatState"]

_STRAYS = {VerdictStatus.TOO_LATE: "late", VerdictStatus.DUPLICATE: "duplicate", VerdictStatus.STALE: "stale"}
"""How answers to decisions that are not open are counted; none is a fault."""


@dataclass(slots=True)
class Asked:
    """The one open decision; ``attempts`` counts the refused answers."""

    seat: Seat
    decision: int
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    """How a decision was closed: by the seat's *action*, or by the host's because of a fault."""

    action: Action
    fault: str
    charged_ms: int


class SeatState:
    """
    One seat at one table.

    Attributes:
        history: All that it may know, numbered; the first ``sent`` of it are on their way.
        closed: Decision → how it was closed.
        faults, strays: Kind → count; see :class:`TableResult`.
        here, said_here: Whether it has a bot, and what the others were told last.
        lost: Nobody is waited for: the host acts in its place.
    """

    __slots__ = (
        "clock", "closed", "decisions", "faults", "here", "history", "immediate", "lost", "ready", "said_here", "sent",
        "strays",
    )  # fmt: skip

    def __init__(self, control: TimeControl) -> None:
        self.clock = SeatClock(control)
        self.history: list[Numbered] = []
        self.sent = 0
        self.decisions = 0
        self.closed: dict[int, Closed] = {}
        self.faults: dict[str, int] = {}
        self.strays: dict[str, int] = {}
        self.here = self.said_here = True
        self.ready = False
        self.immediate = False
        self.lost = False

    def count_stray(self, status: VerdictStatus) -> None:
        """An answer came to a decision that is not open."""
        kind = _STRAYS[status]
        self.strays[kind] = self.strays.get(kind, 0) + 1
