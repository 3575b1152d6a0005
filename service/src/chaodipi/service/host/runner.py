"""One table on the host: its machine, its timer, and the sessions that its seats are played in."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Iterable

import structlog
from chaodipi.engine.actions import Action, ActionKind
from chaodipi.engine.cards import SEATS, Card, Seat, Suit
from chaodipi.engine.errors import MalformedError
from chaodipi.engine.events import Phase
from chaodipi.engine.follow import ChoiceSet
from chaodipi.engine.order import Order
from chaodipi.service.host.session import Assigned, Legal, SeatMessage, Session
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.messages import Ended, Update, Verdict, VerdictStatus
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.service.metrics import Metrics

__all__ = ["SeatLink", "TableRunner", "now_ms"]

log = structlog.get_logger("chaodipi.host")


def now_ms() -> int:
    """Milliseconds of the loop's monotonic clock."""
    return int(asyncio.get_running_loop().time() * 1000)


class SeatLink:
    """A seat of a table, and the session and channel that it is played in, if any."""

    __slots__ = ("bot", "channel", "grace", "last_seq", "ready", "runner", "seat", "session", "token")

    def __init__(self, runner: "TableRunner", seat: Seat, bot: str) -> None:
        self.runner = runner
        self.seat = seat
        self.bot = bot
        self.token = secrets.token_urlsafe(12)
        self.session: Session | None = None
        self.channel = 0
        self.ready = False
        self.last_seq = 0
        self.grace: asyncio.TimerHandle | None = None


class TableRunner:
    """
    Drive one machine: inputs in, outbox out, one timer.

    Whatever goes wrong in here ends this table as a host fault and touches no other.
    """

    def __init__(self, spec: TableSpec, metrics: Metrics, freed: Callable[[SeatLink], None]) -> None:
        """*freed* is called for every seat when the table is over. Follow with :meth:`seat`."""
        self.spec = spec
        self.links = [SeatLink(self, seat, bot) for seat, bot in zip(SEATS, spec.bots, strict=True)]
        self.done: asyncio.Future[TableResult] = asyncio.get_running_loop().create_future()
        self._metrics = metrics
        self._freed = freed
        self._log = log.bind(table=spec.table_id)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        # How often a seat is asked while declaring tells what it could show: counted when the table is over (Q110).
        self._declared: list[tuple[str, int]] = []
        self._machine = TableMachine(spec, now_ms())
        self._arm()

    @property
    def started(self) -> bool:
        """Whether the deal has begun."""
        return self._machine.started

    # ---- seats

    def seat(self, sessions: Iterable[Session | None]) -> None:
        """Give each seat its session at the start; one without, whose bot was waited for, is played without it."""
        pairs = list(zip(self.links, sessions, strict=True))
        for link, session in pairs:
            if session is not None:
                self.attach(link, session)
        # After the others have their seats: with this the table may be forfeited, and that is to be told to them.
        for link, session in pairs:
            if session is None:
                self._absent(link)

    def _absent(self, link: SeatLink) -> None:
        self._guard(lambda m: m.seat_absent(link.seat, now_ms()))

    def attach(self, link: SeatLink, session: Session, last_seq: int = 0) -> None:
        """Give the seat to *session*; a seat that was held before goes on after *last_seq*."""
        if link.grace is not None:
            link.grace.cancel()
            link.grace = None
        link.session = session
        link.channel = session.new_channel()
        session.channels[link.channel] = link
        resumed = link.ready or self._machine.started
        left = 0 if resumed else max(1, (self._machine.next_timer() or 0) - now_ms())
        session.send(Assigned(link.channel, self.spec, link.seat, link.token, left, resumed))
        if resumed:
            link.ready = True
            self._metrics.seat_resumed(link.bot)
            self._back(link, session, last_seq)

    def _back(self, link: SeatLink, session: Session | None, last_seq: int = 0, *, snapshot: bool = False) -> None:
        """The bot of a seat is there, with what it says of itself in *session*."""
        immediate = session is not None and session.greeting.immediate
        self._guard(lambda m: m.seat_back(link.seat, now_ms(), last_seq, snapshot=snapshot, immediate=immediate))

    def detach(self, link: SeatLink, grace_s: float) -> None:
        """
        The seat's session is gone; after *grace_s* without another one the seat counts as lost.

        At an untimed table there is no such limit, because a bot that is stopped in a debugger answers no ping either:
        its seat waits until it is back. *grace_s* = 0: nobody is waited for, there neither.
        """
        link.session = None
        link.channel = 0
        if self.done.done():
            return
        if grace_s <= 0:
            self.lose(link)
            return
        self._guard(lambda m: m.seat_away(link.seat, now_ms()))
        if not self.spec.time.untimed:
            link.grace = asyncio.get_running_loop().call_later(grace_s, self.lose, link)

    def lose(self, link: SeatLink) -> None:
        """Nobody is waited for: the seat, which has no session, is played by default actions until its bot is back."""
        link.grace = None
        self._log.info("seat_lost", seat=int(link.seat), bot=link.bot)
        self._guard(lambda m: m.seat_lost(link.seat, now_ms()))

    # ---- inputs

    def receive_ready(self, link: SeatLink) -> None:
        """The bot at *link* is ready."""
        if link.ready:
            return
        link.ready = True
        immediate = link.session is not None and link.session.greeting.immediate
        if self._machine.started:
            self._back(link, link.session)
        else:
            self._guard(lambda m: m.receive_ready(link.seat, now_ms(), immediate=immediate))

    def receive_answer(self, link: SeatLink, decision: int, action: Action | MalformedError) -> None:
        """An answer came, or one that cannot be read."""
        if isinstance(action, MalformedError):
            error = action
            self._guard(lambda m: m.receive_malformed(link.seat, decision, now_ms(), error.reason, error.message))
        else:
            chosen = action
            self._guard(lambda m: m.receive_answer(link.seat, decision, chosen, now_ms()))

    def receive_resync(self, link: SeatLink, last_seq: int) -> None:
        """The bot wants all events after *last_seq* again; where it trusts none, a snapshot."""
        self._back(link, link.session, last_seq, snapshot=not last_seq)

    def stop(self, note: str) -> None:
        """End the table without a score."""
        self._guard(lambda m: m.stop("host_fault", note))

    # ---- the machine

    def _guard(self, call: Callable[[TableMachine], None]) -> None:
        """Call into the machine and send what comes out; our own faults end the table."""
        if self.done.done():
            return  # the channel was closed with the table: a late answer needs no verdict
        try:
            phase = self._machine.phase
            call(self._machine)
            self._pump(phase)
        except Exception:
            self._log.exception("table_failed")
            self._abort("an internal error")

    def _abort(self, note: str) -> None:
        self._machine.result = result = TableResult(
            table_id=self.spec.table_id,
            how="host_fault",
            score=0,
            dealer=None,
            settlement=None,
            decisions=(),
            note=note,
        )
        for link in self.links:
            self._send(link, Ended(link.seat, result))
        self._finish(result)

    def _pump(self, phase: Phase) -> None:
        for message in self._machine.outbox():
            link = self.links[message.seat]
            if isinstance(message, Verdict):
                if message.status == VerdictStatus.ACCEPTED and phase == Phase.DECLARE:
                    self._declared.append((link.bot, message.think_ms))
                elif message.status == VerdictStatus.ACCEPTED:
                    self._metrics.decided(link.bot, phase.name, message.think_ms)
                elif message.status == VerdictStatus.TOO_LATE:
                    self._metrics.late_answer(link.bot)
                elif message.status in (VerdictStatus.DUPLICATE, VerdictStatus.STALE):
                    self._metrics.stray_answer(link.bot, message.status.name.lower())
            self._send(link, message)
        if self._machine.result is not None:
            self._finish(self._machine.result)
        else:
            self._arm()

    def _send(self, link: SeatLink, message: Update | Verdict | Ended) -> None:
        session = link.session
        if session is None:
            return
        legal = None
        if session.greeting.legal and isinstance(message, Update) and message.decision is not None:
            legal = legal_of(self._machine, link.seat)
        session.send(SeatMessage(link.channel, self.spec, message, legal))

    def _finish(self, result: TableResult) -> None:
        if self.done.done():
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for link in self.links:
            if link.grace is not None:
                link.grace.cancel()
                link.grace = None
            for kind, count in result.faults.get(link.seat, {}).items():
                self._metrics.fault(link.bot, kind, count)
        for bot, think_ms in self._declared:
            self._metrics.decided(bot, Phase.DECLARE.name, think_ms)
        self._metrics.table_ended(result.how)
        self.done.set_result(result)
        self._tell(result)
        self._log.info("table_over", how=result.how, score=result.score, decisions=len(result.decisions))
        for link in self.links:
            self._freed(link)

    def _tell(self, result: TableResult) -> None:
        """Log decisions and faults; only at the end, because how often a seat was asked tells what it holds (Q110)."""
        bots = self.spec.bots
        for record in result.decisions:
            self._log.debug(
                "decision",
                deal=record.redeals + 1,
                seat=int(record.seat),
                bot=bots[record.seat],
                decision=record.decision,
                kind=record.action.kind.name.lower(),
                think_ms=record.think_ms,
                fault=record.fault,
            )
        for fault in result.booked:
            self._log.info(
                "fault",
                deal=fault.redeals + 1,
                seat=int(fault.seat),
                bot=bots[fault.seat],
                decision=fault.decision,
                kind=fault.kind,
            )

    # ---- the timer

    def _arm(self) -> None:
        """Have the timer fire no later than the machine wants; an early one does nothing."""
        due = self._machine.next_timer()
        if due is None or (self._timer is not None and self._timer_ms <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = due
        self._timer = asyncio.get_running_loop().call_later(max(0, due - now_ms() + 1) / 1000, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._guard(lambda m: m.handle_timer(now_ms()))


def legal_of(machine: TableMachine, seat: Seat) -> Legal:
    """All legal actions of the open decision of *seat*."""
    deal = machine.deal
    hand = deal.view.hand(seat)
    legal = deal.legal_actions(seat)
    if deal.phase in (Phase.DECLARE, Phase.STIR):
        return Legal(legal.shows, ActionKind.PASS in legal.kinds, ActionKind.SHOW, (), True)
    if deal.phase == Phase.BURY:
        count, hand = legal.bury_count, deal.view.can_bury(seat)
        return Legal((), False, ActionKind.BURY, (ChoiceSet(pool=hand, choose_min=count, choose_max=count),), True)
    if deal.phase == Phase.FOLLOW:
        sets = () if legal.follows is None else tuple(legal.follows.choice_sets())
        return Legal(legal.shows, ActionKind.PASS in legal.kinds, ActionKind.PLAY, sets, True)
    if deal.view.plain_lead:
        return Legal((), False, ActionKind.PLAY, plain_leads(hand), True)
    sets, complete = leads(deal.view.order, hand)
    return Legal((), False, ActionKind.PLAY, sets, complete)


def plain_leads(hand: Iterable[Card]) -> tuple[ChoiceSet, ...]:
    """Leads of one card or of identical cards, the only ones before stirs in the first trick (Q45)."""
    held = Counter(hand)
    singles = ChoiceSet(pool=tuple(held), choose_min=1, choose_max=1)
    equal = [ChoiceSet(forced=(card,) * n) for card, count in held.items() for n in range(2, count + 1)]
    return (singles, *equal)


def leads(order: Order, hand: Iterable[Card]) -> tuple[tuple[ChoiceSet, ...], bool]:
    """Leads of *hand*, one set a class, and whether these are all."""
    classes: dict[Suit, list[Card]] = {}
    for card in hand:
        classes.setdefault(order.class_of(card), []).append(card)
    sets = tuple(ChoiceSet(pool=tuple(cards), choose_min=1, choose_max=len(cards)) for cards in classes.values())
    # With the rule of the heart 510K the top heart five may join a side 510K: a lead of two classes.
    return sets, not order.ruleset.heart_510k_side
