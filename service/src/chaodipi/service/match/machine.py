"""The machine of one table: who is asked, until when, and what an answer leads to. Sans-I/O.

::

    READY ──all ready, or the time is up──▶ ASKING ──answer or default action──▶ ASKING … ──▶ OVER
                                              │   ▲
                                              └───┘ RETRY, within the same clock

No tasks, no sockets, no clock: whatever needs time takes ``now`` (milliseconds of any monotonic
clock). What is to be sent waits in :meth:`TableMachine.outbox`; when to call
:meth:`TableMachine.handle_timer` says :meth:`TableMachine.next_timer`.
"""

from collections.abc import Mapping
from dataclasses import replace

from chaodipi.engine.actions import Action, ActionKind
from chaodipi.engine.cards import SEATS, Seat, Side
from chaodipi.engine.deal import Deal
from chaodipi.engine.errors import EngineError, RuleError
from chaodipi.engine.events import (
    Booked,
    Buried,
    DealEnded,
    Phase,
    Played,
)
from chaodipi.engine.game import dealer_of, settle_deal
from chaodipi.engine.referee import Referee
from chaodipi.engine.scoring import Settlement
from chaodipi.service.match.feed import Feed
from chaodipi.service.match.messages import (
    Decision,
    Ended,
    FaultRecorded,
    Message,
    Outcome,
    Verdict,
    VerdictStatus,
)
from chaodipi.service.match.seat import Asked, Closed, SeatState
from chaodipi.service.match.table import BookedFault, DecisionRecord, TableResult, TableSpec

__all__ = ["TableMachine"]


class TableMachine:
    """
    Play one table from the assignment of its seats to its result.

    Attributes:
        result: None until the table is over.
    """

    def __init__(self, spec: TableSpec, now_ms: int) -> None:
        """
        Wait for the seats from *now_ms* on; nothing is dealt before all are ready or the time is up.

        Raises:
            RulesetError, MalformedError: the setup cannot be dealt; the organiser's mistake.
        """
        self.spec = spec
        self.result: TableResult | None = None
        self._seats = {seat: SeatState(spec.time) for seat in SEATS}
        self._feed = Feed(self._seats)
        self._redeals = 0
        # Dealt at once, so that a bad setup shows before anybody waits for it.
        self._deal, self._referee = self._dealt()
        self._taken = 0
        self._started = False
        self._ready_deadline_ms = now_ms + spec.time.ready_ms
        self._open: Asked | None = None
        self._outcome: Outcome | None = None
        self._records: list[DecisionRecord] = []
        self._booked: list[BookedFault] = []

    # ---- questions

    @property
    def started(self) -> bool:
        """Whether play has begun."""
        return self._started

    @property
    def deal(self) -> Deal:
        """The running deal, all cards in it. Read only, the host's only."""
        return self._deal

    @property
    def phase(self) -> Phase:
        """What the running deal waits for."""
        return self._deal.phase

    def outbox(self) -> list[Message]:
        """What is to be sent, in order; each message is handed out once."""
        return self._feed.take()

    def next_timer(self) -> int | None:
        """When :meth:`handle_timer` is due; None after the end, and while only an untimed decision is open."""
        if self.result is not None:
            return None
        if not self._started:
            return self._ready_deadline_ms
        deadline = self._seats[self._open.seat].clock.deadline_ms if self._open is not None else None
        return min((t for t in (deadline, self._feed.next_timer) if t is not None), default=None)

    # ---- inputs

    def receive_ready(self, seat: Seat, now: int, *, immediate: bool = False) -> None:
        """*seat* is ready; play begins with the fourth. *immediate*: it wants events at once."""
        state = self._seats[seat]
        self._lookout(now)
        state.ready = True
        state.immediate = immediate
        state.lost = False
        state.here = True
        state.clock.back(now)
        if not self._started and all(s.ready for s in self._seats.values()):
            self._start(now)

    def receive_answer(self, seat: Seat, decision: int, action: Action, now: int) -> None:
        """Take *action* as the answer to *decision*; exactly one verdict comes of it."""
        self._lookout(now)
        asked = self._open
        if asked is None or asked.seat != seat or asked.decision != decision:
            self._answer_closed(seat, decision, action)
            return
        try:
            self._deal.check(seat, action)
        except EngineError as error:
            fault = "illegal" if isinstance(error, RuleError) else "malformed"
            metadata: dict[str, str] = {}
            if isinstance(error, RuleError):
                metadata["clauses"] = " ".join(error.clauses)
                if error.satisfying:
                    metadata["satisfying"] = " ".join(card.text for card in error.satisfying)
                metadata |= self._penalised(asked, action, now)
            self._refuse(asked, fault, error.reason, error.message, metadata, now)
            return
        # The verdict is queued before what the action leads to, and says what its decision cost.
        charged, think = self._stop_clock(asked, now)
        bank = self._seats[seat].clock.bank_ms
        self._feed.send(Verdict(seat, decision, VerdictStatus.ACCEPTED, charged, bank_left_ms=bank, think_ms=think))
        self._close(asked, action, charged, think, now, fault="")

    def receive_malformed(
        self, seat: Seat, decision: int, now: int, reason: str = "ACTION_MISSING", message: str = "no action"
    ) -> None:
        """An answer to *decision* came that cannot be read as an action."""
        self._lookout(now)
        asked = self._open
        if asked is None or asked.seat != seat or asked.decision != decision:
            self._answer_closed(seat, decision, None)
            return
        self._refuse(asked, "malformed", reason, message, {}, now)

    def seat_away(self, seat: Seat, now: int) -> None:
        """*seat* has no bot for the moment: its disconnect grace runs, then its clock again."""
        self._lookout(now)
        state = self._seats[seat]
        state.here = False
        state.clock.away(now)
        self._presence_changed(now)

    def seat_absent(self, seat: Seat, now: int) -> None:
        """*seat* has no bot and none is to be waited for: not ready, and played by default actions until one comes."""
        self._lookout(now)
        state = self._seats[seat]
        state.here = False
        state.clock.away(now)
        if self.result is not None or self._started or state.ready:
            return
        state.lost = state.ready = True
        if not self._fault(seat, "not_ready") and all(s.ready for s in self._seats.values()):
            self._start(now)

    def seat_lost(self, seat: Seat, now: int) -> None:
        """*seat* has no bot any more: from now on it is played by default actions, one fault in all."""
        state = self._seats[seat]
        self._lookout(now)
        if self.result is not None or state.lost:
            return
        state.here = False
        state.clock.away(now)
        state.lost = True
        if self._fault(seat, "disconnected"):
            return
        if not self._started:
            state.ready = True
            if all(s.ready for s in self._seats.values()):
                self._start(now)
        elif self._open is not None and self._open.seat == seat:
            self._act_for(self._open, self._deal.default_action(seat), now, "disconnected")
        self._presence_changed(now)

    def seat_back(
        self, seat: Seat, now: int, last_seq: int = 0, *, snapshot: bool = False, immediate: bool = False
    ) -> None:
        """
        *seat* has a bot again, which holds all events up to *last_seq*: it gets the later ones and what is open; with
        *snapshot*, what they all make instead. *immediate*: from now on it wants events at once.
        """
        self._lookout(now)
        state = self._seats[seat]
        state.immediate = immediate
        state.lost = False
        state.here = True
        state.clock.back(now)
        if self.result is not None:
            self._feed.send(Ended(seat, self.result))
            return
        if not self._started:
            return
        asked = self._open
        request = self._request(asked, now) if asked is not None and asked.seat == seat else None
        if snapshot:
            self._feed.flush_snapshot(seat, self.spec.ruleset, request)
        else:
            state.sent = min(last_seq, len(state.history))
            self._feed.flush(seat, request)
        self._presence_changed(now)

    def handle_timer(self, now: int) -> None:
        """Do what is due at *now*; nothing if called early."""
        self._lookout(now)

    def stop(self, how: str, note: str = "") -> None:
        """End the table without a score, as *how* (host_fault)."""
        if self.result is None:
            self._finish(how, 0, None, None, note)

    # ---- time

    def _lookout(self, now: int) -> None:
        """Act on every limit that has passed by *now*."""
        if self.result is not None:
            return
        if not self._started:
            if now >= self._ready_deadline_ms:
                for seat, state in self._seats.items():
                    if not state.ready:
                        state.lost = True
                        if self._fault(seat, "not_ready"):
                            return
                self._start(now)
            return
        asked = self._open
        deadline = None if asked is None else self._seats[asked.seat].clock.deadline_ms
        if asked is not None and deadline is not None and now >= deadline:
            if self._fault(asked.seat, "timeout"):
                return
            self._act_for(asked, self._deal.default_action(asked.seat), now, "timeout")
        if self.result is None:
            self._feed.lookout(now)

    def _stop_clock(self, asked: Asked, now: int) -> tuple[int, int]:
        """Close the decision's clock: what it is charged, and how long it was open."""
        clock = self._seats[asked.seat].clock
        think = clock.think(now)
        return clock.stop(now), think

    def _presence_changed(self, now: int) -> None:
        """Have the others told, while the table is being played."""
        if self._started and self.result is None:
            self._feed.presence_changed(now)

    # ---- answers

    def _answer_closed(self, seat: Seat, decision: int, action: Action | None) -> None:
        """The verdict on an answer to a decision that is not open; never a fault."""
        state = self._seats[seat]
        closed = state.closed.get(decision)
        if closed is None:
            text = f"decision {decision} was never asked" if self.result is None else "the table is over"
            verdict = Verdict(seat, decision, VerdictStatus.STALE, 0, "STALE_DECISION", text)
        elif closed.fault in ("timeout", "disconnected", "not_ready"):
            verdict = Verdict(
                seat,
                decision,
                VerdictStatus.TOO_LATE,
                closed.charged_ms,
                "STALE_DECISION",
                "the time was up before the answer came",
                applied=closed.action,
            )
        elif not closed.fault and closed.action == action:
            verdict = Verdict(seat, decision, VerdictStatus.DUPLICATE, closed.charged_ms)
        else:
            text = "this decision is already decided"
            verdict = Verdict(seat, decision, VerdictStatus.STALE, closed.charged_ms, "STALE_DECISION", text)
        state.count_stray(verdict.status)
        open_now = self._open.decision if self._open is not None and self._open.seat == seat else 0
        metadata = {"decision": str(decision)} | ({"open": str(open_now)} if open_now else {})
        self._feed.send(replace(verdict, bank_left_ms=state.clock.bank_ms, metadata=metadata))

    def _refuse(
        self, asked: Asked, fault: str, reason: str, message: str, metadata: Mapping[str, str], now: int
    ) -> None:
        """Ask again within the same clock, or act for the seat when no attempt is left."""
        asked.attempts += 1
        left = self.spec.time.attempts - asked.attempts
        seat, decision = asked.seat, asked.decision
        clock = self._seats[seat].clock
        why = (reason, message, metadata)
        if left > 0 and not self._deal.over:
            charged, bank = clock.charged(now), clock.bank_left(now)
            self._feed.send(Verdict(seat, decision, VerdictStatus.RETRY, charged, *why, None, left, bank))
            self._feed.flush(seat, self._request(asked, now))
            return
        # Where a referee has ended the deal, or the table is forfeited now, nothing is played in the seat's place.
        ended = self._deal.over or self._is_last_fault(seat)
        action = None if ended else self._deal.default_action(seat)
        charged, think = self._stop_clock(asked, now)
        self._feed.send(Verdict(seat, decision, VerdictStatus.REPLACED, charged, *why, action, 0, clock.bank_ms))
        forfeited = self._fault(seat, fault)
        if action is not None:
            self._close(asked, action, charged, think, now, fault=fault)
        elif not forfeited:
            self._open = None
            self._advance(now)

    def _penalised(self, asked: Asked, action: Action, now: int) -> dict[str, str]:
        """Have the referee, if there is one, book the refused *action*; what the verdict says of it."""
        if self._referee is None:
            return {}
        ruling = self._referee.act(asked.seat, action)
        if ruling.offence is None:
            return {}
        think = self._seats[asked.seat].clock.think(now)
        fault = "illegal" if self._deal.over else ""
        self._records.append(
            DecisionRecord(asked.seat, action, self._redeals, think, False, fault, True, asked.decision)
        )
        self._publish(None)
        booked = sum(event.points for event in ruling.events if isinstance(event, Booked))
        penalty = "jump" if self._deal.over else "warning" if ruling.warned else str(booked)
        return {"offence": ruling.offence.value, "penalty": penalty}

    # ---- play

    def _dealt(self) -> tuple[Deal, Referee | None]:
        """The deal of the present shuffle, with a referee where breaches are penalised."""
        deal = Deal(self.spec.setup(self._redeals))
        return deal, Referee(deal) if self.spec.mode == "penalise" else None

    def _start(self, now: int) -> None:
        self._started = True
        self._presence_changed(now)
        self._advance(now)

    def _act_for(self, asked: Asked, action: Action, now: int, fault: str) -> None:
        """Act for the seat that is asked."""
        charged, think = self._stop_clock(asked, now)
        self._close(asked, action, charged, think, now, fault=fault)

    def _close(self, asked: Asked, action: Action, charged: int, think: int, now: int, *, fault: str) -> None:
        """Close *asked*, whose clock has stopped, with *action*, and go on to the next decision."""
        self._open = None
        self._seats[asked.seat].closed[asked.decision] = Closed(action, fault, charged)
        self._act(asked.seat, action, think, by_host=bool(fault), fault=fault, decision=asked.decision)
        self._advance(now)

    def _act(self, seat: Seat, action: Action, think_ms: int, *, by_host: bool, fault: str, decision: int = 0) -> None:
        if self._referee is None:
            self._deal.act(seat, action)
        else:
            self._referee.act(seat, action)
        self._records.append(DecisionRecord(seat, action, self._redeals, think_ms, by_host, fault, False, decision))
        self._publish(seat if by_host else None)

    def _advance(self, now: int) -> None:
        """Go on until a bot is asked or the table is over."""
        while self.result is None:
            self._publish(None)
            deal = self._deal
            if deal.over:
                self._end_deal()
                continue
            seat = deal.to_act
            assert seat is not None
            state = self._seats[seat]
            if state.lost:
                self._act(seat, deal.default_action(seat), 0, by_host=True, fault="disconnected")
                continue
            state.decisions += 1
            limit = self.spec.time.bury_ms if deal.phase == Phase.BURY else self.spec.time.play_ms
            state.clock.start(now, limit)
            self._open = Asked(seat, state.decisions)
            self._feed.flush(seat, self._request(self._open, now))
            break
        self._feed.hold(now)

    def _request(self, asked: Asked, now: int) -> Decision:
        deal = self._deal
        phase = deal.phase
        count = 0
        if phase == Phase.BURY:
            count = deal.ruleset.bottom
        elif phase == Phase.FOLLOW and ActionKind.PLAY in deal.allowed_kinds:
            count = len(deal.view.trick[0].cards)
        state = self._seats[asked.seat]
        left, bank = state.clock.left(now), state.clock.bank_left(now)
        seq = len(state.history)
        attempt = asked.attempts + 1
        return Decision(asked.decision, phase, deal.allowed_kinds, seq, left, count, attempt, min(left, bank))

    def _publish(self, by_host: Seat | None) -> None:
        """Tell the seats the deal's new events; *by_host*: the seat that the host acted for."""
        events = self._deal.events
        new = events[self._taken :]
        self._taken = len(events)
        for event in new:
            if isinstance(event, DealEnded):
                if event.how != "redeal":  # that a deal is dealt again, the next start says
                    self._outcome = self._settle()
                    self._feed.tell_end(event, self._outcome)
                self._feed.flush_all()
            else:
                acted = by_host is not None and isinstance(event, Played | Buried) and event.seat == by_host
                self._feed.tell(event, acted)

    # ---- the end

    def _settle(self) -> Outcome:
        deal = self._deal
        settlement = settle_deal(deal, {side: deal.setup.position(side) for side in Side})
        return Outcome(settlement, dealer_of(deal), tuple(deal.view.adjustments))

    def _end_deal(self) -> None:
        deal = self._deal
        outcome = self._outcome
        if deal.redeals_spent:
            self._finish("no_declaration", 0, None, None)
            return
        if outcome is not None:
            how = "jump" if deal.view.end is not None and deal.view.end.jumping is not None else "played"
            self._finish(how, outcome.settlement.score, outcome.dealer, outcome.settlement)
            return
        self._redeals += 1
        self._deal, self._referee = self._dealt()
        self._taken = 0

    def _is_last_fault(self, seat: Seat) -> bool:
        """Whether one more fault of *seat* forfeits the table."""
        return sum(self._seats[seat].faults.values()) + 1 == self.spec.time.max_faults

    def _asks(self, seat: Seat) -> bool:
        return self._open is not None and self._open.seat == seat

    def _fault(self, seat: Seat, kind: str) -> bool:
        """Book a fault of *seat*; whether the table was forfeited by it. Then nothing more is played."""
        forfeits = self._is_last_fault(seat)
        state = self._seats[seat]
        state.faults[kind] = state.faults.get(kind, 0) + 1
        self._booked.append(BookedFault(seat, kind, self._redeals, state.decisions if self._asks(seat) else 0))
        total = sum(state.faults.values())
        if self._started:
            self._publish(None)
        self._feed.tell_fault(FaultRecorded(seat, kind, total))
        if forfeits:
            self._finish("forfeit", 0, None, None, forfeiting_seat=seat)
        return forfeits

    def _finish(
        self,
        how: str,
        score: int,
        dealer: Seat | None,
        settlement: Settlement | None,
        note: str = "",
        forfeiting_seat: Seat | None = None,
    ) -> None:
        self._open = None
        self.result = TableResult(
            table_id=self.spec.table_id,
            how=how,
            score=score,
            dealer=dealer,
            settlement=settlement,
            decisions=tuple(self._records),
            faults={seat: dict(state.faults) for seat, state in self._seats.items() if state.faults},
            strays={seat: dict(state.strays) for seat, state in self._seats.items() if state.strays},
            booked=tuple(self._booked),
            forfeiting_seat=forfeiting_seat,
            levels=self._deal.setup.levels,
            note=note,
        )
        for seat in SEATS:
            self._feed.flush(seat)
            self._feed.send(Ended(seat, self.result))
