"""How long a seat may take: the limits of a table, and the time that one seat has used of them. Sans-I/O.

A decision has its own limit first, then the seat's time bank, then byo-yomi::

    asked ──limit (+ start budget, first decision)──┬──bank──┬──byo-yomi, period by period──▶ timeout
                                                    charged from here on, until the answer comes

Time that is never charged: the network allowance of every answer, and once a table the disconnect grace, which runs
instead of the clock while the seat that is asked has no bot.
"""

from dataclasses import dataclass, fields
from typing import Any

from chaodipi.engine.ruleset import Ruleset

__all__ = ["SeatClock", "TimeControl", "TimeControlError"]

DAY_MS = 86_400_000
CAP_MS = 600_000
"""Longest that a decision is open unless a longer limit is set."""


class TimeControlError(ValueError):
    """Limits that cannot be, or not together; *key* is the one to change. Whose mistake: who set them."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class TimeControl:
    """
    The limits of a table in milliseconds, and the fault policy's numbers. Checked: what cannot work is refused.

    Attributes:
        play_ms: To show, pass, lead or follow (S4-04, Q93). 0: from the bank or byo-yomi only.
        bury_ms: To bury (S4-03, Q93). 0: from the bank or byo-yomi only.
        start_ms: On top, for the first decision of a seat at its table.
        bank_ms: Time bank of a seat for the whole table, used when the limit is up.
        increment_ms: Added to the bank after each decision; needs a bank.
        byoyomi_ms: A byo-yomi period, used when limit and bank are up. It is lost only by using it up; the last one
            is never lost, because a timeout is a fault and not yet the end.
        byoyomi_periods: How many; with ``byoyomi_ms`` or not at all, and not with ``increment_ms``.
        allowance_ms: Network allowance: added to every limit, taken off every answer's time before it is charged.
        grace_ms: Disconnect grace: while the seat that is asked has no bot it is charged first, once a table.
        cap_ms: Longest that one decision is open, all included but the allowance. 0: ten minutes, or the longest
            limit if that is longer.
        untimed: No clock for decisions, for debugging. Getting ready stays timed.
        ready_ms: From assignment until the seat is ready; never charged to a decision.
        attempts: Answers to one decision before the default action is taken.
        max_faults: With so many faults of one seat its side forfeits the table; 0: never.

    Raises:
        TimeControlError: a number out of range, or limits that do not go together.
    """

    play_ms: int = 15_000
    bury_ms: int = 90_000
    start_ms: int = 0
    bank_ms: int = 0
    increment_ms: int = 0
    byoyomi_ms: int = 0
    byoyomi_periods: int = 0
    allowance_ms: int = 100
    grace_ms: int = 10_000
    cap_ms: int = 0
    untimed: bool = False
    ready_ms: int = 60_000
    attempts: int = 3
    max_faults: int = 10

    @classmethod
    def of(cls, ruleset: Ruleset, **settings: Any) -> "TimeControl":
        """*settings*, and where they say nothing the limits of *ruleset* (``play_s``, ``bury_s``)."""
        return cls(**{"play_ms": ruleset.play_s * 1000, "bury_ms": ruleset.bury_s * 1000} | settings)

    def __post_init__(self) -> None:
        for key, (least, most) in _RANGES.items():
            value = getattr(self, key)
            if not least <= value <= most:
                raise TimeControlError(key, f"{key} = {value}: {least} to {most} expected")
        self._check_together()

    def _check_together(self) -> None:
        if (self.byoyomi_ms > 0) != (self.byoyomi_periods > 0):
            key = "byoyomi_ms" if self.byoyomi_ms else "byoyomi_periods"
            raise TimeControlError(key, "byoyomi_ms and byoyomi_periods go together")
        if self.increment_ms and self.byoyomi_periods:
            raise TimeControlError("increment_ms", "increment_ms and byo-yomi do not go together")
        if self.increment_ms and not self.bank_ms:
            raise TimeControlError("increment_ms", f"increment_ms = {self.increment_ms} needs a bank_ms")
        if self.untimed:
            for key in ("start_ms", "bank_ms", "byoyomi_ms", "cap_ms"):
                if getattr(self, key):
                    raise TimeControlError(key, f"{key} = {getattr(self, key)} has no meaning if untimed")
            return
        for key in ("play_ms", "bury_ms"):
            if not getattr(self, key) and not self.increment_ms and not self.byoyomi_ms:
                raise TimeControlError(key, f"{key} = 0 needs increment_ms or byo-yomi: the bank may be used up")
        if self.cap_ms and self.cap_ms < self.longest_limit_ms:
            raise TimeControlError("cap_ms", f"cap_ms = {self.cap_ms}: {self.longest_limit_ms} or more for its limits")

    @property
    def longest_limit_ms(self) -> int:
        """The longer limit with the start budget."""
        return max(self.play_ms, self.bury_ms) + self.start_ms

    @property
    def hard_cap_ms(self) -> int | None:
        """Longest that one decision is open; None exactly if untimed."""
        return None if self.untimed else self.cap_ms or max(CAP_MS, self.longest_limit_ms)

    @property
    def longest_decision_ms(self) -> int | None:
        """Longest that a decision can be open, the time bank and the disconnect grace included; None if untimed."""
        cap = self.hard_cap_ms
        if cap is None:
            return None
        budget = self.longest_limit_ms + self.bank_ms + self.byoyomi_periods * self.byoyomi_ms + self.grace_ms
        return min(cap, budget) + self.allowance_ms

    def as_json(self) -> dict[str, int | bool]:
        """All values, for records and digests."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_RANGES = {
    "play_ms": (0, DAY_MS), "bury_ms": (0, DAY_MS), "start_ms": (0, DAY_MS), "bank_ms": (0, DAY_MS),
    "increment_ms": (0, DAY_MS), "byoyomi_ms": (0, DAY_MS), "byoyomi_periods": (0, 1000),
    "allowance_ms": (0, 60_000), "grace_ms": (0, DAY_MS), "cap_ms": (0, DAY_MS), "ready_ms": (1, DAY_MS),
    "attempts": (1, 100), "max_faults": (0, 1_000_000),
}  # fmt: skip


@dataclass(slots=True)
class _Running:
    """
    The open decision's time.

    Attributes:
        limit_ms: Free of charge to the bank.
        grace_used_ms: Grace that ran instead of the clock, finished absences only.
        away_ms: Since when grace runs; None: it does not.
    """

    asked_ms: int
    limit_ms: int
    grace_used_ms: int = 0
    away_ms: int | None = None


class SeatClock:
    """
    The time of one seat at one table, told when it is asked, when it has answered, and when its bot is away.

    Attributes:
        bank_ms: What the time bank holds, the open decision not yet charged.
        periods: Byo-yomi periods left.
    """

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.bank_ms = control.bank_ms
        self.periods = control.byoyomi_periods
        self._grace_ms = control.grace_ms
        self._first = True
        self._away = False
        self._running: _Running | None = None

    # ---- what happens

    def start(self, now: int, limit_ms: int) -> None:
        """A decision of *limit_ms* is asked at *now*."""
        limit = limit_ms + (self.control.start_ms if self._first else 0)
        self._first = False
        self._running = _Running(now, limit, away_ms=now if self._away else None)

    def stop(self, now: int) -> int:
        """The decision is closed at *now*: what it is charged, the bank and byo-yomi booked."""
        running = self._open()
        # A timer that fires late is the host's doing: nothing after the deadline is charged.
        if self.deadline_ms is not None:
            now = min(now, self.deadline_ms)
        charged = self.charged(now)
        self._spend_grace(now)
        if not self.control.untimed:
            over = max(0, charged - running.limit_ms)
            from_bank = min(over, self.bank_ms)
            self.bank_ms += self.control.increment_ms - from_bank
            if over > from_bank and self.control.byoyomi_ms:
                used_up = (over - from_bank - 1) // self.control.byoyomi_ms
                self.periods = max(1, self.periods - used_up)
        self._running = None
        return charged

    def away(self, now: int) -> None:
        """The seat has no bot from *now* on."""
        if not self._away:
            self._away = True
            if self._running is not None:
                self._running.away_ms = now

    def back(self, now: int) -> None:
        """The seat has a bot again."""
        self._away = False
        self._spend_grace(now)

    # ---- questions

    @property
    def deadline_ms(self) -> int | None:
        """When the open decision is a timeout, as things are; None if there is none or it is untimed."""
        running, cap = self._running, self.control.hard_cap_ms
        if running is None or cap is None:
            return None
        grace = running.grace_used_ms + (self._grace_ms if running.away_ms is not None else 0)
        return running.asked_ms + self.control.allowance_ms + min(cap, self._budget(running) + grace)

    def think(self, now: int) -> int:
        """Since the decision was asked, nothing taken off."""
        return max(0, now - self._open().asked_ms)

    def charged(self, now: int) -> int:
        """What the open decision has been charged by *now*."""
        running = self._open()
        used = now - running.asked_ms - running.grace_used_ms - self._grace_running(now) - self.control.allowance_ms
        return max(0, used if self.control.untimed else min(used, self._budget(running)))

    def left(self, now: int) -> int:
        """Milliseconds to answer, the bank included, the allowance not; 0 exactly if untimed."""
        deadline = self.deadline_ms
        return 0 if deadline is None else max(1, deadline - self.control.allowance_ms - now)

    def bank_left(self, now: int) -> int:
        """What the bank holds, the open decision charged as of *now*."""
        running = self._running
        if running is None:
            return self.bank_ms
        return max(0, self.bank_ms - max(0, self.charged(now) - running.limit_ms))

    # ---- within

    def _open(self) -> _Running:
        assert self._running is not None, "no decision is open"
        return self._running

    def _budget(self, running: _Running) -> int:
        return running.limit_ms + self.bank_ms + self.periods * self.control.byoyomi_ms

    def _grace_running(self, now: int) -> int:
        running = self._open()
        return 0 if running.away_ms is None else min(self._grace_ms, now - running.away_ms)

    def _spend_grace(self, now: int) -> None:
        if self._running is not None and self._running.away_ms is not None:
            spent = self._grace_running(now)
            self._grace_ms -= spent
            self._running.grace_used_ms += spent
            self._running.away_ms = None
