"""The judge's general question: a stacked deal driven by a script of actions."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import Card, Rank, Seat, Side, Suit
from chaodipi.engine.deal import Deal
from chaodipi.engine.errors import MalformedError, RuleError
from chaodipi.engine.events import Booked, Buried, Event, Phase, Played, ShowKind
from chaodipi.engine.judge_read import Fields, as_cards, read_flag, read_positions, read_ruleset
from chaodipi.engine.referee import IRREGULARITIES, MODES, Referee, Ruling
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.rungs import read_showing
from chaodipi.engine.scoring import Position
from chaodipi.engine.view import View

__all__ = ["play_script"]

Result = dict[str, Any]

_PHASES = {"declare": Phase.DECLARE, "bury": Phase.BURY, "stir": Phase.STIR, "play": Phase.LEAD}
_SIDES = {"02": Side.SIDE_02, "13": Side.SIDE_13}
_WHEN = {"declare": (Phase.DECLARE,), "stir": (Phase.STIR, Phase.LEAD, Phase.FOLLOW)}
"""Phases in which a kind of showing may be tried; a stir is not a declaration. The deal knows when stirs end."""


def play_script(fields: Fields) -> Result:
    """Answer op ``play``: build the position, run the actions, report each verdict and the end state."""
    ruleset = read_ruleset(fields)
    deal = _position(fields, ruleset)
    referee = Referee(deal) if fields.choice("mode", MODES, "prevent") == "penalise" else None
    actions = fields.get("actions")
    if not isinstance(actions, list):
        raise MalformedError("FIELD_INVALID", "a list of [seat, kind, cards?, options?]", "actions")
    results = [_run(deal, entry, ruleset, referee) for entry in actions]
    return {"results": results} | _state(deal)


def _position(fields: Fields, ruleset: Ruleset) -> Deal:
    flag = read_flag(fields, ruleset)
    positions = _positions(fields, ruleset, flag)
    hands_given = fields.get("hands")
    if not isinstance(hands_given, Mapping):
        raise MalformedError("FIELD_INVALID", "an object of seat and cards", "hands")
    hands = {fields.as_seat(seat, "hands"): as_cards(cards, "hands", ruleset) for seat, cards in hands_given.items()}
    dealer = None if fields.optional("dealer") is None else fields.seat("dealer")
    stage = fields.optional("on_stage")
    if stage is not None and stage not in tuple(_SIDES):
        raise MalformedError("FIELD_INVALID", "one of 02, 13", "on_stage")
    if flag:
        side = dealer.side if dealer is not None else None if stage is None else _SIDES[stage]
        if side is None:
            raise MalformedError("FIELD_MISSING", "a flag deal has a dealer", "dealer")
        positions[side] = Position.at(None)
    start = fields.optional("from", {})
    if not isinstance(start, Mapping):
        raise MalformedError("FIELD_INVALID", "an object", "from")
    begin = Fields(start)
    standing = begin.optional("standing")
    trump = Suit.parse(begin.text("trump")) if begin.has("trump") else None
    deal = _stacked(
        ruleset,
        hands,
        bottom=fields.cards("bottom", ruleset) if fields.has("bottom") else (),
        dealer=dealer,
        levels=(positions[Side.SIDE_02].deal_level, positions[Side.SIDE_13].deal_level),
        laps=(positions[Side.SIDE_02].lap, positions[Side.SIDE_13].lap),
        on_stage=None if stage is None else _SIDES[stage],
        first_drawer=fields.seat("first_drawer", Seat.S0),
        first_deal=fields.flag("first_deal"),
        redeals=begin.whole("redeals", 0, 100, 0),
        phase=_PHASES[begin.choice("phase", tuple(_PHASES), "declare")],
        trump=trump,
        leader=None if begin.optional("leader") is None else begin.seat("leader"),
        standing=None if standing is None else _standing(standing, ruleset, trump),
        bottom_owner=None if begin.optional("bottom_owner") is None else begin.seat("bottom_owner"),
        score=begin.whole("score", -2000, 2000, 0),
        tricks_left=begin.whole("tricks_left", 1, 39) if begin.optional("tricks_left") is not None else None,
    )
    begin.refuse_unknown()
    _check_trump(deal)
    stands = deal.view.standing
    if stands is not None and trump not in (None, stands.trump):
        raise MalformedError("FIELD_INVALID", "the trump is not the standing showing's", "from")
    return deal


def _check_trump(deal: Deal) -> None:
    """Play needs a trump: the position's, or one that was shown since."""
    if deal.phase in (Phase.LEAD, Phase.FOLLOW) and deal.view.trump is None:
        raise MalformedError("FIELD_MISSING", "a position in play has a trump", "trump")


def _stacked(ruleset: Ruleset, hands: Mapping[Seat, Sequence[Card]], **values: Any) -> Deal:
    """The position as a deal; a standing that is no showing makes the question malformed, not an action illegal."""
    try:
        return Deal.from_position(ruleset, hands, **values)
    except RuleError as error:
        raise MalformedError("FIELD_INVALID", error.message, "from") from None


def _positions(fields: Fields, ruleset: Ruleset, flag: bool) -> dict[Side, Position]:
    """Where both sides stand. A flag deal may leave it out."""
    if fields.has("positions"):
        return read_positions(fields.get("positions"), _SIDES, ruleset)
    if flag and not fields.has("levels"):
        return dict.fromkeys(Side, Position.at(None))
    given = fields.get("levels")
    if not isinstance(given, Mapping) or set(given) != set(_SIDES):
        raise MalformedError("FIELD_INVALID", "an object with the levels of 02 and 13", "levels")
    return {side: Position(Rank.parse(given[name])) for name, side in _SIDES.items()}


def _standing(value: Any, ruleset: Ruleset, trump: Suit | None) -> tuple[Seat, tuple[Card, ...], ShowKind, Suit | None]:
    """The showing that stands; cards that leave the trump open have named the position's *trump* (Q28, Q127)."""
    if not isinstance(value, Mapping):
        raise MalformedError("FIELD_INVALID", "an object with seat, cards, kind", "from")
    fields = Fields(value)
    names = [kind.name.lower() for kind in ShowKind]
    kind = ShowKind[fields.choice("kind", names, "declaration").upper()]
    cards = fields.cards("cards", ruleset, least=1)
    named = Suit.parse(fields.text("named")) if fields.has("named") else None
    if named is None and kind is not ShowKind.LOOKING_BACK and _leave_trump_open(ruleset, cards):
        named = trump
    standing = (fields.seat("seat"), cards, kind, named)
    fields.refuse_unknown()
    return standing


def _leave_trump_open(ruleset: Ruleset, cards: Sequence[Card]) -> bool:
    """Whether *cards*, once shown, make any trump that their shower names; these are jokers or heart fives."""
    try:
        read_showing(ruleset, None, cards, None, looking_back=False)
    except RuleError as error:
        return error.reason == "NAMED_TRUMP_MISSING"
    return False


def _run(deal: Deal, entry: Any, ruleset: Ruleset, referee: Referee | None) -> Result:
    """Run one line of the script; refused actions change nothing, but for what a referee books."""
    if not isinstance(entry, list) or not entry:
        raise MalformedError("FIELD_INVALID", '[seat, kind, cards?, options?] or ["close"]', "actions")
    try:
        if entry == ["close"]:
            return _accepted(_close(deal, referee))
        seat, action = _action(deal, entry, ruleset, stirring=referee is not None and referee.uncounted)
        if isinstance(action, Bury) and deal.phase == Phase.DECLARE:
            # The dealer's burying closes the window by itself, if it is his and legal: try it on a copy.
            trial = copy.deepcopy(deal)
            _close(trial)
            _check_cards(trial, seat, action)
            if referee is None or trial.to_act != seat:
                trial.check(seat, action)
            _close(deal, referee)
        if action is None or isinstance(action, Play):
            _check_trump(deal)
        _check_cards(deal, seat, action, refereed=referee is not None)
        if action is None:
            action = Pass() if deal.phase == Phase.DECLARE else deal.default_action(seat)
        if referee is not None:
            return _ruled(referee.act(seat, action), deal, told=entry[1] == "timeout")
        return _accepted(deal.act(seat, action), told=entry[1] == "timeout")
    except RuleError as error:
        return {"accepted": False, "reason": error.reason, "clauses": list(error.clauses)}


def _ruled(ruling: Ruling, deal: Deal, told: bool) -> Result:
    """What a referee made of an action: refused ones may have booked something all the same."""
    result = _accepted(ruling.events, told)
    if ruling.refused is None:
        return result
    clauses = list(ruling.refused.clauses)
    if ruling.offence is not None:
        table = IRREGULARITIES[deal.ruleset.irregularities]
        clauses += [clause for clause in table[ruling.offence].clauses if clause not in clauses]
    return result | {"accepted": False, "reason": ruling.refused.reason, "clauses": clauses}


def _close(deal: Deal, referee: Referee | None = None) -> tuple[Event, ...]:
    """Close the window; a position that does not say what an undeclared deal needs is malformed."""
    if deal.view.flag and deal.phase == Phase.LEAD and not deal.view.tricks:
        return ()  # a flag deal has no window
    setup, undeclared = deal.setup, deal.phase == Phase.DECLARE and deal.view.standing is None
    placing = deal.ruleset.dealer_seat == "placing"
    if undeclared and not setup.first_deal and setup.dealer is None and not placing:
        raise MalformedError("FIELD_MISSING", "a later deal has a dealer", "dealer")
    return deal.close() if referee is None else referee.close()


def _check_cards(deal: Deal, seat: Seat, action: Action | None, *, refereed: bool = False) -> None:
    """Whose turn it is, and whether the given hand can do it at all; *refereed*: also if it is not its turn."""
    if deal.to_act is not None and deal.to_act != seat:
        if action is None:
            raise RuleError("NOT_YOUR_TURN", f"seat {deal.to_act} is asked", ("S0-20", "S1-25"))
        if refereed and isinstance(action, Play) and deal.view.hand(seat):
            Fields.check_held(action.cards, deal.view.hand(seat))
        return
    hand = deal.view.hand(seat)
    lead = deal.view.lead
    plays = isinstance(action, Play) or (action is None and ActionKind.PLAY in deal.allowed_kinds)
    if plays and deal.phase == Phase.FOLLOW and lead is not None and len(hand) < len(lead):
        raise MalformedError("FIELD_INVALID", f"seat {seat} holds fewer cards than were led", "hands")
    if isinstance(action, Play | Bury) and deal.to_act == seat:
        # Of the dealer's own lead the engine says that it cannot be buried (Q126).
        led = [card for play in deal.view.trick for card in play.cards if play.seat == seat]
        Fields.check_held(action.cards, [*hand, *(led if isinstance(action, Bury) else ())])


def _action(
    deal: Deal, entry: Sequence[Any], ruleset: Ruleset, *, stirring: bool = False
) -> tuple[Seat, Action | None]:
    """
    The seat and its action; None stands for a time-out. A RuleError for a kind that is not its phase's.

    *stirring*: a stir may be tried though the burying is not over, because nobody has counted the bottom.
    """
    if len(entry) < 2 or len(entry) > 4:
        raise MalformedError("FIELD_INVALID", "[seat, kind, cards?, options?]", "actions")
    seat, kind = Fields.as_seat(entry[0], "actions"), entry[1]
    extra = [part for part in entry[2:] if part]
    if kind in ("timeout", "pass"):
        if extra:
            raise MalformedError("FIELD_UNKNOWN", f"{kind} takes neither cards nor options", "actions")
        return seat, None if kind == "timeout" else Pass()
    if kind not in ("declare", "stir", "bury", "play"):
        raise MalformedError("FIELD_INVALID", f"unknown kind of action {kind!r}", "actions")
    if len(entry) < 3:
        raise MalformedError("FIELD_MISSING", f"{kind} needs cards", "actions")
    cards = as_cards(entry[2], "actions", ruleset)
    given = entry[3] if len(entry) > 3 else {}
    if not isinstance(given, Mapping):
        raise MalformedError("FIELD_INVALID", "options are an object", "actions")
    options = Fields(given)
    if kind in ("bury", "play"):
        options.refuse_unknown()
        return seat, Bury(cards) if kind == "bury" else Play(cards)
    in_phase = deal.phase in _WHEN[kind] or (stirring and kind == "stir")
    if not in_phase or deal.view.bottom_size == 0:
        raise _out_of_phase(deal, kind)
    named = Suit.parse(options.text("named")) if options.has("named") else None
    show = Show(cards, named, options.flag("looking_back"))
    options.refuse_unknown()
    return seat, show


def _out_of_phase(deal: Deal, kind: str) -> RuleError:
    if deal.view.bottom_size == 0:
        return RuleError("NO_BOTTOM", "this deal has no bottom", ("S0-49",))
    if kind == "stir":
        return RuleError("STIR_CLOSED", "there is no stirring now", ("S0-07", "S0-20", "Q41"))
    return RuleError("WRONG_ACTION_KIND", "nothing can be declared any more", ("S2a-51", "Q111"))


def _accepted(events: Sequence[Event], told: bool = False) -> Result:
    result: Result = {"accepted": True, "reason": "", "clauses": []}
    for event in events:
        if isinstance(event, Played) or (told and isinstance(event, Buried)):
            result["played"] = [card.text for card in event.cards]
            break
    booked = [event.points for event in events if isinstance(event, Booked)]
    if booked:
        result["booked"] = sum(booked)
    return result


_PHASE_NAMES = {
    Phase.DECLARE: "declare",
    Phase.BURY: "bury",
    Phase.STIR: "stir",
    Phase.LEAD: "play",
    Phase.FOLLOW: "play",
    Phase.ENDED: "end",
}


def _seat(seat: Seat | None) -> int | None:
    return None if seat is None else int(seat)


def _returned(view: View) -> list[Any]:
    """What the last stir returned."""
    last = view.returned[-1].returned if view.returned else ()
    return [[int(seat), [card.text for card in cards]] for seat, cards in last]


def _state(deal: Deal) -> Result:
    view = deal.view
    end = view.end
    standing = view.standing
    # Who has taken the bottom owns it, also while he is still to bury (Q109).
    owner = deal.to_act if view.phase == Phase.BURY else view.bottom_owner
    return {
        "asked": [int(seat) for seat in view.asked],
        "trump": None if view.trump is None else view.trump.letter,
        "dealer": _seat(view.dealer),
        "phase": _PHASE_NAMES[view.phase],
        "to_act": _seat(deal.to_act),
        "bottom_owner": _seat(owner),
        "standing": None
        if standing is None
        else {
            "seat": int(standing.seat),
            "cards": [card.text for card in standing.cards],
            "kind": standing.kind.name.lower(),
        },
        "table": [[int(play.seat), [card.text for card in play.cards]] for play in view.trick],
        "returned": _returned(view),
        "order": [int(seat) for seat in view.waiting],
        "score": view.score if end is None else end.score,
        "adjustments": [{"kind": b.kind, "seat": int(b.seat), "points": b.points} for b in view.adjustments],
        "stake": view.stake,
        "redeal": end is not None and end.how == "redeal",
        "barred": sorted(int(seat) for seat in view.barred),
        "end": None if end is None else {"how": end.how, "side": None if end.jumping is None else end.jumping.text},
    }
