"""What happens in a deal, as values; a deal *is* the list of its events.

:class:`chaodipi.engine.view.View` is the fold of events, for the host of all of them, for a
seat of those that :func:`visible` lets it know. Nothing else changes a view, so a client that
receives its events has the very state that the host checks against.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import Any

from chaodipi.engine.cards import Card, Rank, Seat, Side, Suit

__all__ = [
    "Booked",
    "BottomTaken",
    "Buried",
    "CardsDrawn",
    "CardsReturned",
    "DealEnded",
    "DealStarted",
    "Event",
    "Passed",
    "Phase",
    "Played",
    "Positioned",
    "ShowKind",
    "Shown",
    "TrickEnded",
    "TrumpRevealed",
    "WindowClosed",
    "is_flag_deal",
    "visible",
]

Cards = tuple[Card, ...]
Sizes = tuple[int, int, int, int]


class Phase(IntEnum):
    """Where a deal stands; the numbers are the wire's."""

    DECLARE = 1
    BURY = 2
    STIR = 3
    LEAD = 4
    FOLLOW = 5
    ENDED = 6


class ShowKind(StrEnum):
    """What a showing was; the texts are those of the protocol and the judge."""

    DECLARATION = "declaration"
    """亮主: the first showing of a deal."""
    OVERCALL = "overcall"
    """反主, 反无主: a higher showing before the bottom is taken."""
    SELF_PROTECT = "self_protect"
    """自保: the declarer adds the second card."""
    SELF_OVERCALL = "self_overcall"
    """自反: the declarer changes to another suit."""
    STIR = "stir"
    """炒底: a higher showing that takes the buried bottom over."""
    LOOKING_BACK = "looking_back"
    """回头望: the first declarer's completed pair; an overcall or a stir, by the phase."""


def is_flag_deal(dealer: Seat | None, on_stage: Side | None, levels: tuple[Rank | None, Rank | None]) -> bool:
    """Whether the side that deals has no level: it carries the flag (S0-48, S0-49)."""
    side = dealer.side if dealer is not None else on_stage
    return side is not None and levels[side] is None


@dataclass(frozen=True, slots=True)
class DealStarted:
    """
    A deal begins; public.

    Attributes:
        first_drawer: Draws the first card.
        dealer: Dealer (庄家), or None where the showing decides.
        levels: Levels of sides 02 and 13; None for a side on its flag deal.
        laps: Their laps, from 1; 0 where a match has no laps.
        on_stage: Side whose level is played, None in a first deal.
        first_deal: First deal of a game: nobody is on stage yet.
        redeals: How often this deal was redealt before, 0 or more.
    """

    first_drawer: Seat
    dealer: Seat | None
    levels: tuple[Rank | None, Rank | None]
    on_stage: Side | None
    first_deal: bool
    redeals: int
    laps: tuple[int, int] = (0, 0)

    @property
    def flag(self) -> bool:
        """A flag deal (扛旗)."""
        return is_flag_deal(self.dealer, self.on_stage, self.levels)


@dataclass(frozen=True, slots=True)
class CardsDrawn:
    """*seat* drew *cards*; known to that seat. *sizes*: cards in all hands after it."""

    seat: Seat
    cards: Cards
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Shown:
    """
    A seat showed cards. Public, but in a dark ruleset others learn neither cards nor name until
    :class:`TrumpRevealed`.

    Attributes:
        kind: Others see a hidden showing as a declaration, an overcall or a stir, nothing finer.
        cards: All cards of the showing; empty where they are hidden from the receiver.
        named: Trump named with it, where the cards leave a choice.
        hidden: The showing is dark (暗).
        phase: DECLARE or STIR, FOLLOW for a stir during the first trick.
    """

    seat: Seat
    kind: ShowKind
    cards: Cards
    named: Suit | None
    hidden: bool
    phase: Phase


@dataclass(frozen=True, slots=True)
class Passed:
    """
    *seat* showed nothing. While declaring only the seat itself knows (Q110); while stirring, all.

    In FOLLOW only the dealer passes, whose card lies on the table already (Q45).
    """

    seat: Seat
    phase: Phase


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """
    The declaring window closed; public. Dealer, trump and level are fixed in this one step (Q111).

    Attributes:
        trump: None where it is hidden from the receiver.
        turned: Cards of the bottom turned for all to see, in dealing order (Q25, Q112).
        undeclared: Nobody showed: no stirring in this deal (S0-07, Q41).
        sizes: Cards in all hands.
        caller: Whose showing stands; None if undeclared. Public also where the showing is dark,
            because this seat may be passed over in the stirring (Q102, Q115).
        hidden: The trump is dark until :class:`TrumpRevealed`.
    """

    dealer: Seat
    trump: Suit | None
    level: Rank | None
    turned: Cards
    undeclared: bool
    sizes: Sizes
    caller: Seat | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class BottomTaken:
    """
    *seat* took *count* cards of the bottom; which, only that seat knows.

    ``already_shown``: those of them that were shown in the dark, by whomever, and may not be shown
    again (Q100); the taker is told, who could not know what he may show otherwise.
    """

    seat: Seat
    cards: Cards
    count: int
    already_shown: Cards = ()


@dataclass(frozen=True, slots=True)
class Buried:
    """*seat* buried *count* cards (扣底) and owns the bottom; which, only that seat knows."""

    seat: Seat
    cards: Cards
    count: int


@dataclass(frozen=True, slots=True)
class TrumpRevealed:
    """
    Stirring has ended in a dark ruleset, and nobody has led yet: everything shown is published (S0-35, Q99).

    Attributes:
        trump, level: Those of the deal.
        showings: All showings of the deal with their cards, oldest first; not hidden any more.
    """

    trump: Suit
    level: Rank | None
    showings: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Played:
    """*seat* contributed *cards*; *attempted* is the whole throw where it failed. Public (Q112)."""

    seat: Seat
    cards: Cards
    attempted: Cards | None


@dataclass(frozen=True, slots=True)
class CardsReturned:
    """
    A stir during the first trick returned cards to the hands that had played them (S2a-56, Q44). Public (Q112).

    Attributes:
        stirrer: The seat that stirred.
        returned: (seat, cards) in playing order, the dealer's lead not among them; empty if the stir came first.
    """

    stirrer: Seat
    returned: tuple[tuple[Seat, Cards], ...]


@dataclass(frozen=True, slots=True)
class Booked:
    """*points* change the catchers' score because of *seat*, before any floor. Public.

    Kinds: failed_throw, blind_stir_failed, forced_heart_five, kept_heart_five, penalty.
    """

    kind: str
    seat: Seat
    points: int


@dataclass(frozen=True, slots=True)
class TrickEnded:
    """*winner* took a trick of *points*; *score* is the catchers' running score after it. Public."""

    winner: Seat
    points: int
    score: int


@dataclass(frozen=True, slots=True)
class DealEnded:
    """
    The deal is over; public, bottom included (Q112).

    Attributes:
        how: ``played``; ``redeal`` (nothing else is shown and nothing counts, Q111); or ``jump`` (not
            played: after a false call or stir the opponents jump, S3-56).
        score: Catchers' score with the dig, not yet floored.
        bottom: The buried cards; empty after a redeal.
        dig_multiplier: 0 where the bottom was kept.
        dig_points: Multiplier times the points in the bottom.
        last_winner, last_play: Winner of the last trick and his cards; None and empty after a redeal.
        stake: Multiplier of the stake, 1 or a power of two (Q47).
        jumping: The side that jumps, with ``jump`` only.
    """

    how: str
    score: int
    bottom: Cards
    dig_multiplier: int
    dig_points: int
    last_winner: Seat | None
    last_play: Cards
    stake: int
    jumping: Side | None = None


@dataclass(frozen=True, slots=True)
class Positioned:
    """
    A stacked position, for the judge and for tests; never in a deal that was dealt.

    Hands and level come from the events before it. ``standing`` is (seat, cards, kind, named).
    ``tricks_left`` None: until all hands are empty. Each seat's hand, the bottom too, are the host's only.
    ``hidden``: the showing is dark, and its cards and the trump are its seat's only.
    """

    phase: Phase
    dealer: Seat | None
    level: Rank | None
    trump: Suit | None
    leader: Seat | None
    standing: tuple[Seat, Cards, ShowKind, Suit | None] | None
    bottom_owner: Seat | None
    bottom: Cards
    score: int
    tricks_left: int | None
    sizes: Sizes
    hidden: bool = False


Event = (
    DealStarted
    | CardsDrawn
    | Shown
    | Passed
    | WindowClosed
    | BottomTaken
    | Buried
    | TrumpRevealed
    | Played
    | CardsReturned
    | Booked
    | TrickEnded
    | DealEnded
    | Positioned
)


def visible(event: Event, seat: Seat) -> Event | None:
    """
    *event* as *seat* may know it, or None where it may not even know that it happened.

    Own drawn cards only; a pass while declaring only to the passer; bottom cards only to who
    takes them; buried cards only to who buries them; dark showings without their cards, and the
    trump that they make to nobody.
    """
    hide = _HIDE.get(type(event))
    return event if hide is None else hide(event, seat)


def _hide_draw(event: CardsDrawn, seat: Seat) -> Event | None:
    return event if event.seat == seat else None


def _hide_pass(event: Passed, seat: Seat) -> Event | None:
    return event if event.phase != Phase.DECLARE or event.seat == seat else None


def _hide_showing(event: Shown, seat: Seat) -> Event:
    if not event.hidden or event.seat == seat:
        return event
    kind = event.kind
    if kind is not ShowKind.DECLARATION:
        kind = ShowKind.STIR if event.phase == Phase.STIR else ShowKind.OVERCALL
    return replace(event, kind=kind, cards=(), named=None)


def _hide_trump(event: WindowClosed, seat: Seat) -> Event:
    return replace(event, trump=None) if event.hidden else event


def _hide_taken(event: BottomTaken, seat: Seat) -> Event:
    return event if event.seat == seat else replace(event, cards=(), already_shown=())


def _hide_buried(event: Buried, seat: Seat) -> Event:
    return event if event.seat == seat else replace(event, cards=())


def _hide_position(event: Positioned, seat: Seat) -> Event:
    if event.bottom_owner != seat:
        event = replace(event, bottom=())
    if not event.hidden:
        return event
    standing = event.standing
    if standing is not None and standing[0] != seat:
        standing = (standing[0], (), standing[2], None)
    return replace(event, trump=None, standing=standing)


_HIDE: dict[type, Callable[[Any, Seat], Event | None]] = {
    CardsDrawn: _hide_draw,
    Passed: _hide_pass,
    Shown: _hide_showing,
    WindowClosed: _hide_trump,
    BottomTaken: _hide_taken,
    Buried: _hide_buried,
    Positioned: _hide_position,
}
"""What is hidden of an event; kinds that are not listed are public."""
