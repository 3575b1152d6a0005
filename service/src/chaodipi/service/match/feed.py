"""What the seats of one table are told: numbered for each seat, held back, and sent. Sans-I/O."""

from collections.abc import Mapping

from chaodipi.engine.cards import SEATS, Seat
from chaodipi.engine.events import DealEnded, DealStarted, Event, TrickEnded, WindowClosed, visible
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.view import View
from chaodipi.service.match.messages import (
    Decision,
    FaultRecorded,
    Message,
    Numbered,
    Outcome,
    PresenceChanged,
    Update,
)
from chaodipi.service.match.seat import SeatState

__all__ = ["Feed"]

HOLD_MS = 1_000
"""Longest time for which events wait for a decision, and shortest between two words about a seat's presence."""

_FLUSHING = (DealStarted, WindowClosed, TrickEnded, DealEnded)
"""Events that are sent at once, with all that waited."""


class Feed:
    """Number what happens for each of *seats*, and send it with what is asked, or within ``HOLD_MS``."""

    def __init__(self, seats: Mapping[Seat, SeatState]) -> None:
        self._seats = seats
        self._out: list[Message] = []
        self._hold_ms: int | None = None
        self._presence_ms: int | None = None

    @property
    def next_timer(self) -> int | None:
        """When :meth:`lookout` is due; None while nothing waits."""
        return min((t for t in (self._hold_ms, self._presence_ms) if t is not None), default=None)

    def lookout(self, now: int) -> None:
        """Send what has waited long enough by *now*."""
        if self._hold_ms is not None and now >= self._hold_ms:
            self.flush_all()
        if self._presence_ms is not None and now >= self._presence_ms:
            self._tell_presence()
            self.flush_all()

    def take(self) -> list[Message]:
        """What is to be sent, in order; each message is handed out once."""
        out, self._out = self._out, []
        return out

    def send(self, message: Message) -> None:
        """Send *message* after what was sent before."""
        self._out.append(message)

    # ---- what happens

    def tell(self, event: Event, by_host: bool = False) -> None:
        """Number *event* for the seats that may see it, as each may; *by_host*: the host acted for a seat."""
        for seat, state in self._seats.items():
            seen = visible(event, seat)
            if seen is not None:
                state.history.append(Numbered(len(state.history) + 1, seen, by_host))
                if state.immediate:
                    self.flush(seat)
        if isinstance(event, _FLUSHING):
            self.flush_all()

    def tell_end(self, event: DealEnded, outcome: Outcome) -> None:
        """Number the end of the deal, with what it led to."""
        for state in self._seats.values():
            state.history.append(Numbered(len(state.history) + 1, event, outcome=outcome))

    def tell_fault(self, fault: FaultRecorded) -> None:
        """Number *fault* for all."""
        for state in self._seats.values():
            state.history.append(Numbered(len(state.history) + 1, fault))

    def presence_changed(self, now: int) -> None:
        """Have the others told in a moment, should it still be so then."""
        if self._presence_ms is None and any(state.here != state.said_here for state in self._seats.values()):
            self._presence_ms = now + HOLD_MS

    def _tell_presence(self) -> None:
        """Number for the others whose bot went or came since they were told; who flaps says nothing."""
        self._presence_ms = None
        for seat, state in self._seats.items():
            if state.here == state.said_here:
                continue
            state.said_here = state.here
            for other, told in self._seats.items():
                if other != seat:
                    told.history.append(Numbered(len(told.history) + 1, PresenceChanged(seat, state.here)))

    # ---- sending

    def hold(self, now: int) -> None:
        """Let what waits for a decision wait no longer than ``HOLD_MS`` from *now*."""
        if self._hold_ms is None and any(s.sent < len(s.history) for s in self._seats.values()):
            self._hold_ms = now + HOLD_MS

    def flush_all(self) -> None:
        """Send every seat what it was not sent yet."""
        for seat in SEATS:
            self.flush(seat)
        self._hold_ms = None

    def flush(self, seat: Seat, decision: Decision | None = None) -> None:
        """Send *seat* what it was not sent yet, and *decision*; nothing to a seat that has no bot any more."""
        state = self._seats[seat]
        if state.sent == len(state.history) and decision is None:
            return
        events = tuple(state.history[state.sent :])
        state.sent = len(state.history)
        if not state.lost:
            self._out.append(Update(seat, events, decision))

    def flush_snapshot(self, seat: Seat, ruleset: Ruleset, decision: Decision | None = None) -> None:
        """Send *seat* all that it may know of the deal at once, in the place of its events, and *decision*."""
        state = self._seats[seat]
        events = [each.event for each in state.history if not isinstance(each.event, FaultRecorded | PresenceChanged)]
        begins = max((at for at, event in enumerate(events) if isinstance(event, DealStarted)), default=0)
        state.sent = len(state.history)
        self._out.append(
            Update(seat, (), decision, snapshot=View(ruleset, seat, events[begins:]), seq=len(state.history))
        )
