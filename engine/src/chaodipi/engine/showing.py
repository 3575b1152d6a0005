"""Who may show what, when: declaring, overcalling, self-protect, looking back, stirring.

Each way of overcalling is one function, chosen by ``ruleset.overcall``; stirring one more.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from chaodipi.engine.actions import Show
from chaodipi.engine.cards import HEART_FIVE, Card, Seat, Suit
from chaodipi.engine.errors import MalformedError, RuleError
from chaodipi.engine.events import Phase, ShowKind
from chaodipi.engine.history import Showing
from chaodipi.engine.order import order_for
from chaodipi.engine.rungs import LOOKING_BACK, is_higher, read_showing
from chaodipi.engine.view import View

__all__ = ["can_show", "check_show", "failed_stirs", "legal_shows", "used_cards"]

Result = tuple[ShowKind, str, Suit]

_NAMES = (Suit.CLUBS, Suit.DIAMONDS, Suit.HEARTS, Suit.SPADES, Suit.NO_TRUMP)
_JOKER_RUNGS = frozenset({"bj", "rj", "bj3", "rj3"})


def check_show(view: View, seat: Seat, show: Show) -> Result:
    """
    What *show* would be if *seat* made it now: its kind, its rung and the trump it names.

    Whose turn it is does not matter here, only the phase and the cards; the view must know the
    seat's hand.

    Raises:
        RuleError: the player's breach: ``NOT_YOUR_CARDS`` (Q113), ``NOT_A_SHOWING``,
            ``NAMED_TRUMP_MISSING``, ``NAMED_TRUMP_NOT_ALLOWED``, ``DECLARATION_TOO_WEAK``,
            ``OVERCALL_CLOSED``, ``NOT_ALLOWED_TO_SHOW``, ``LOOKING_BACK_NOT_ALLOWED``,
            ``CARDS_ALREADY_SHOWN``, ``TOO_FEW_TRUMPS``, ``STIR_CLOSED``, ``NO_BOTTOM``.
        MalformedError: ``CARDS_MISSING``: no cards at all; the sender's mistake.
    """
    if view.flag:
        raise RuleError("NO_BOTTOM", "a flag deal has no bottom: nothing is shown", ("S0-49", "Q88"))
    if view.phase != Phase.DECLARE and not view.stirring:
        raise RuleError("STIR_CLOSED", "nobody may show cards any more", ("S0-07", "S0-20", "Q41"))
    if not show.cards:
        raise MalformedError("CARDS_MISSING", "a showing has at least one card", "cards")
    _check_held(view, seat, show)
    return _decide(view, seat, show)


def _decide(view: View, seat: Seat, show: Show) -> Result:
    """:func:`check_show` of cards that the seat holds."""
    rung, trump = read_showing(view.ruleset, view.level, show.cards, show.named, show.looking_back)
    if view.phase != Phase.DECLARE:
        kind = _check_stir(view, seat, show, rung)
    elif not view.shown:
        kind = _check_first(view, seat, rung)
    elif rung == LOOKING_BACK:
        kind = _check_looking_back(view, seat, show)
    else:
        kind = _OVERCALLS[view.ruleset.overcall](view, seat, show, rung)
    _check_once(view, show, kind)
    _check_trumps(view, seat, trump)
    return kind, rung, trump


def can_show(view: View, seat: Seat, show: Show) -> bool:
    """Whether :func:`check_show` accepts *show*."""
    try:
        check_show(view, seat, show)
    except RuleError:
        return False
    return True


def legal_shows(view: View, seat: Seat) -> tuple[Show, ...]:
    """
    Everything that *seat* may show in this state, each once.

    In order: single level cards, pairs, triples (suits C D H S, then jokers), heart fives, mixed
    jokers (each name in the order C D H S NT), looking back. Empty where the seat may show nothing.
    """
    if view.flag or (view.phase != Phase.DECLARE and not view.stirring):
        return ()
    return tuple(show for show in _candidates(view, seat) if _is_legal(view, seat, show))


def _is_legal(view: View, seat: Seat, show: Show) -> bool:
    try:
        _decide(view, seat, show)
    except RuleError:
        return False
    return True


def _candidates(view: View, seat: Seat) -> Iterator[Show]:
    """Showings that the hand of *seat* could form, legal or not."""
    ruleset = view.ruleset
    held = Counter(card for card in view.hands[seat] if card.is_joker or card.rank == view.level or card == HEART_FIVE)
    kinds = sorted(held)
    top = ruleset.heart_five == "top"
    for count in (1, 2, 3):
        for card in kinds:
            if held[card] < count or (card == HEART_FIVE and count == 2 and top):
                continue
            yield Show((card,) * count)
    if held[HEART_FIVE] >= 2 and top:
        for named in _NAMES:
            yield Show((HEART_FIVE, HEART_FIVE), named)
    for rung, count in (("three_jokers", 3), ("four_jokers", 4)):
        if rung in ruleset.ladder:
            for cards in _joker_sets(held, count):
                for named in _NAMES:
                    yield Show(cards, named)
    if "both_jokers" in ruleset.ladder and held[Card.SMALL_JOKER] and held[Card.BIG_JOKER]:
        yield Show((Card.SMALL_JOKER, Card.BIG_JOKER))
    if LOOKING_BACK in ruleset.ladder:
        for card in kinds:
            if held[card] >= 2 and not card.is_joker:
                yield Show((card, card), looking_back=True)


def _joker_sets(held: Counter[Card], count: int) -> Iterator[tuple[Card, ...]]:
    small, big = held[Card.SMALL_JOKER], held[Card.BIG_JOKER]
    for n in range(max(0, count - big), min(small, count) + 1):
        yield (Card.SMALL_JOKER,) * n + (Card.BIG_JOKER,) * (count - n)


# ---- one check each


def _check_held(view: View, seat: Seat, show: Show) -> None:
    missing = Counter(show.cards) - Counter(view.hands[seat])
    if missing:
        cards = " ".join(card.text for card in sorted(missing))
        raise RuleError("NOT_YOUR_CARDS", f"not in the hand: {cards}", ("Q113",))


def _check_first(view: View, seat: Seat, rung: str) -> ShowKind:
    """The first showing of a deal (S0-12, S2b-16, S4-15, Q20, Q104)."""
    allowed = view.ruleset.first_showing
    if rung == LOOKING_BACK:
        raise RuleError("LOOKING_BACK_NOT_ALLOWED", "nobody has declared yet", ("S0-32", "Q27"))
    if view.ruleset.overcall == "correction" and not view.first_deal and rung != "single" and _on_stage(view, seat):
        return ShowKind.OVERCALL  # a direct correction: nothing was placed before it
    if allowed == "single" and rung != "single":
        raise RuleError("NOT_A_SHOWING", "the first showing is exactly one level card", ("S4-15", "S3-09", "Q20"))
    if allowed == "single_or_pair" and rung not in ("single", "C", "D", "H", "S"):
        raise RuleError("NOT_A_SHOWING", "the first showing is one level card or a pair of them", ("S2b-16", "Q20"))
    return ShowKind.DECLARATION


def _check_looking_back(view: View, seat: Seat, show: Show) -> ShowKind:
    """Looking back (回头望): once a deal, the single first declaration completed, after another's showing (Q27)."""
    first = view.declaration
    clauses = ("S0-32", "S0-58", "Q27")
    if first is None or first.seat != seat or len(first.cards) != 1:
        raise RuleError("LOOKING_BACK_NOT_ALLOWED", "only who declared first, with one card, looks back", clauses)
    if show.cards[0] != first.cards[0]:
        raise RuleError("LOOKING_BACK_NOT_ALLOWED", f"looking back completes {first.cards[0]}", clauses)
    if all(showing.seat == seat for showing in view.shown):
        raise RuleError("LOOKING_BACK_NOT_ALLOWED", "nobody else has overcalled or stirred", clauses)
    if any(showing.kind is ShowKind.LOOKING_BACK for showing in view.shown):
        raise RuleError("LOOKING_BACK_NOT_ALLOWED", "looking back happens once a deal", clauses)
    return ShowKind.LOOKING_BACK


def _check_ladder(view: View, seat: Seat, show: Show, rung: str) -> ShowKind:
    """An overcall by ladder: another seat, strictly higher (S0-13, Q21)."""
    if view.ruleset.dark:
        return _check_dark_ladder(view, seat, rung)
    standing = view.standing
    assert standing is not None
    assert standing.rung is not None
    if standing.seat == seat:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "nobody overcalls himself", ("S0-13", "S0-15"))
    if not is_higher(view.ruleset, rung, standing.rung):
        raise _too_weak(rung, standing.rung, ("S0-13", "S0-33", "S0-47", "S0-59", "Q21"))
    return ShowKind.OVERCALL


def _check_dark_ladder(view: View, seat: Seat, rung: str) -> ShowKind:
    """
    A hidden overcall: refused only for what its seat knows itself (Q103).

    One that is too low is accepted and changes nothing: a refusal would tell what others showed.
    For the same reason "nobody overcalls himself" is taken of the last showing, which all know of,
    and not of the standing one.
    """
    if view.shown[-1].seat == seat:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "nobody overcalls himself", ("S0-13", "S0-15"))
    if rung == "single":
        raise _too_weak(rung, "single", ("S0-13", "S0-33", "Q21"))
    return ShowKind.OVERCALL


def _check_four_modes(view: View, seat: Seat, show: Show, rung: str) -> ShowKind:
    """
    Self-protect, overcall, self-overcall, of which the first closes the three; joker pairs over all
    (自保, 反主, 自反, 反无主: S2b-17, S2b-18, Q23, Q114).
    """
    standing, first = view.standing, view.declaration or view.standing
    assert standing is not None
    assert standing.rung is not None
    assert first is not None
    clauses = ("S2b-17", "S2b-18", "Q23", "Q114")
    if rung in _JOKER_RUNGS:
        if standing.rung in _JOKER_RUNGS and not is_higher(view.ruleset, rung, standing.rung):
            raise _too_weak(rung, standing.rung, clauses)
        return ShowKind.OVERCALL
    if rung == "single" or standing.rung in _JOKER_RUNGS:
        raise _too_weak(rung, standing.rung, clauses)
    if standing.kind is not ShowKind.DECLARATION or standing.rung != "single":
        raise RuleError("OVERCALL_CLOSED", "only a joker pair overcalls now", clauses)
    same_suit = show.cards[0].suit == first.cards[0].suit
    if first.seat == seat:
        return ShowKind.SELF_PROTECT if same_suit else ShowKind.SELF_OVERCALL
    if same_suit:
        raise RuleError("DECLARATION_TOO_WEAK", "an overcall is a pair of another suit", clauses)
    return ShowKind.OVERCALL


def _check_jokers(view: View, seat: Seat, show: Show, rung: str) -> ShowKind:
    """One pack has no pairs: both jokers alone overcall, to no trump, whoever shows them (反无主; Q43)."""
    standing = view.standing
    assert standing is not None
    assert standing.rung is not None
    if not is_higher(view.ruleset, rung, standing.rung):
        raise _too_weak(rung, standing.rung, ("S2b-17", "Q21", "Q43"))
    return ShowKind.OVERCALL


def _check_dark_pair(view: View, seat: Seat, show: Show, rung: str) -> ShowKind:
    """
    A pair over the one dark call; in later deals by the dealer only, if he is not the caller (S3-08 to S3-10, Q29).
    """
    if view.first_deal:
        return _check_pair_of_first_deal(view, seat, rung)
    clauses = ("S3-08", "S4-21", "Q29")
    if seat != view.dealer or seat == view.shown[0].seat:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "only a dealer who is not the caller overcalls", clauses)
    if len(view.shown) > 1:
        raise RuleError("OVERCALL_CLOSED", "the dealer has overcalled", clauses)
    if rung == "single":
        raise _too_weak(rung, "single", ("S3-08", "S4-16", "Q21"))
    return ShowKind.OVERCALL


def _check_correction(view: View, seat: Seat, show: Show, rung: str) -> ShowKind:
    """
    A correction of the placed trump (正主): in later deals one, by a player on stage who did not place it
    (S4-16, S4-20 to S4-22, Q31, Q104).
    """
    if view.first_deal:
        return _check_pair_of_first_deal(view, seat, rung)
    clauses = ("S4-20", "S4-21", "S4-22", "Q31", "Q104")
    if any(showing.kind is ShowKind.OVERCALL for showing in view.shown):
        raise RuleError("OVERCALL_CLOSED", "the trump was corrected already", clauses)
    if seat == view.shown[0].seat:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "nobody corrects what he placed himself", clauses)
    if not _on_stage(view, seat):
        raise RuleError("NOT_ALLOWED_TO_SHOW", "only players on stage correct the trump", clauses)
    if rung == "single":
        raise _too_weak(rung, "single", ("S4-22", "Q21"))
    return ShowKind.OVERCALL


def _check_pair_of_first_deal(view: View, seat: Seat, rung: str) -> ShowKind:
    """In a first deal anybody but the caller may overcall with a pair of level cards, again and again; no jokers."""
    clauses = ("S3-10", "S4-16", "S4-17", "S4-20", "Q29", "Q31")
    if seat in (view.shown[0].seat, view.shown[-1].seat):
        raise RuleError("NOT_ALLOWED_TO_SHOW", "nobody overcalls himself, and the caller does not overcall", clauses)
    if rung in _JOKER_RUNGS:
        raise RuleError("NOT_A_SHOWING", "in a first deal only a pair of level cards overcalls", clauses)
    if rung == "single":
        raise _too_weak(rung, "single", ("S3-10", "S4-16", "Q21"))
    return ShowKind.OVERCALL


def _on_stage(view: View, seat: Seat) -> bool:
    """Whether *seat* is of the side whose level is played."""
    side = view.on_stage if view.on_stage is not None or view.dealer is None else view.dealer.side
    return side == seat.side


_OVERCALLS: dict[str, Callable[[View, Seat, Show, str], ShowKind]] = {
    "ladder": _check_ladder,
    "four_modes": _check_four_modes,
    "jokers": _check_jokers,
    "dark_pair": _check_dark_pair,
    "correction": _check_correction,
}
"""One row for each value of ``ruleset.overcall`` that is played; ``NOT_PLAYED`` in the ruleset refuses the rest."""


_BAR_CLAUSES = ("S0-21", "S2a-21", "S2a-22", "S3-07", "Q39", "Q102", "Q115")


def _check_stir(view: View, seat: Seat, show: Show, rung: str) -> ShowKind:
    """A stir (炒底): not one's own bottom, not barred, strictly higher (S0-20, S0-21, S2b-20, Q102)."""
    if view.undeclared:
        raise RuleError("STIR_CLOSED", "no stirring in an undeclared deal", ("S0-07", "Q41"))
    if seat == view.bottom_owner:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "nobody stirs his own bottom", ("S0-20", "S2a-58", "Q35"))
    if seat in view.barred:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "this seat is passed over until another has stirred", _BAR_CLAUSES)
    kind = _check_looking_back(view, seat, show) if rung == LOOKING_BACK else ShowKind.STIR
    standing = view.standing
    below = standing.rung if standing is not None else None
    if view.ruleset.stir_strength == "higher" and below is not None and not is_higher(view.ruleset, rung, below):
        raise _too_weak(rung, below, ("S0-21", "S2b-21", "S2b-22", "Q21"))
    if rung == "single":
        raise _too_weak(rung, "single", ("S0-21", "S3-02", "Q21"))
    _check_placed(view, seat, show)
    return kind


def _check_placed(view: View, seat: Seat, show: Show) -> None:
    """The placed card is made a pair after another stir only, whoever has corrected it since (S4-30, Q115)."""
    placed = view.declaration
    if view.ruleset.overcall != "correction" or placed is None or placed.seat != seat or view.stirs_from:
        return
    if placed.cards[0] in show.cards:
        raise RuleError(
            "NOT_ALLOWED_TO_SHOW", "the placed card is completed after somebody has stirred", ("S4-30", "Q115")
        )


def _check_once(view: View, show: Show, kind: ShowKind) -> None:
    """Each physical card may be shown once in an overcall or stir, by anybody (S3-05, Q40, Q100)."""
    if not view.ruleset.show_once or kind is ShowKind.DECLARATION:
        return
    used = used_cards(view) + Counter(show.cards)
    if any(count > view.ruleset.decks for count in used.values()):
        raise RuleError("CARDS_ALREADY_SHOWN", "these cards were shown before", ("S3-05", "Q40", "Q100"))


def failed_stirs(view: View) -> tuple[Showing, ...]:
    """Blind stirs that were not higher than all that was shown before them, oldest first (S0-36, Q36)."""
    if view.ruleset.stir_strength != "blind" or not view.revealed:
        return ()
    failed: list[Showing] = []
    highest: str | None = None
    for showing in view.shown:
        assert showing.rung is not None
        if highest is None or is_higher(view.ruleset, showing.rung, highest):
            highest = showing.rung
        elif showing.phase == Phase.STIR:
            failed.append(showing)
    return tuple(failed)


def used_cards(view: View) -> Counter[Card]:
    """Cards that the viewer knows to have been shown in an overcall or stir."""
    used: Counter[Card] = Counter()
    for showing in view.shown:
        if showing.kind is not ShowKind.DECLARATION:
            used.update(showing.cards)
    return used | Counter(view.already_shown)


def _check_trumps(view: View, seat: Seat, trump: Suit) -> None:
    """So many trumps must be in the hand to name a suit (S2a-40, Q97, Q128)."""
    least = view.ruleset.min_trumps_to_call
    if not least or trump == Suit.NO_TRUMP:
        return
    order = order_for(view.ruleset, view.level, trump)
    held = sum(order.class_of(card) == Suit.NO_TRUMP for card in view.hands[seat])
    if held < least:
        raise RuleError("TOO_FEW_TRUMPS", f"{held} trumps in the hand, {least} are needed", ("S2a-40", "Q97", "Q128"))


def _too_weak(rung: str, standing: str, clauses: Sequence[str]) -> RuleError:
    return RuleError("DECLARATION_TOO_WEAK", f"{rung} is not higher than {standing}", clauses)
