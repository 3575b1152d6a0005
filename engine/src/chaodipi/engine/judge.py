"""The judge: one rule question as a JSON object, one answer; the engine's public face.

A question that cannot be read is answered ``ok: false`` with the field; what a player could try
and the rules refuse is ``ok: true`` with ``legal`` or ``accepted`` false, a reason and clauses.
``docs/judge.md`` documents every operation.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

from chaodipi.engine.cards import SUITS, Card, Rank, Seat, Side, Suit, points_of
from chaodipi.engine.errors import EngineError, MalformedError, RuleError, RulesetError
from chaodipi.engine.follow import Follows
from chaodipi.engine.game import paid_winner
from chaodipi.engine.judge_play import play_script
from chaodipi.engine.judge_read import Fields, as_cards, read_flag, read_positions, read_ruleset
from chaodipi.engine.lead import check_lead
from chaodipi.engine.match import GAMES_TO_WIN, ahead_at_time
from chaodipi.engine.order import TRUMPS, Order, order_for
from chaodipi.engine.ruleset import KEYS, Ruleset
from chaodipi.engine.scoring import Position, dig_multiplier, settle
from chaodipi.engine.shapes import Shape, shape_of
from chaodipi.engine.trick import winner_index

__all__ = ["OPERATIONS", "answer", "answer_line"]

Result = dict[str, Any]


def answer(question: Any) -> Result:
    """
    Answer one question (a JSON object as Python values); never raises on bad input.

    Returns:
        ``{"id"?, "ok": True, "result": {…}}``, or ``{"id"?, "ok": False, "error": {reason, message, field}}``.
    """
    reply: Result = {}
    if isinstance(question, Mapping) and "id" in question:
        reply["id"] = question["id"]
    try:
        if not isinstance(question, Mapping):
            raise MalformedError("FIELD_INVALID", "a question is a JSON object", "")
        fields = Fields(question)
        op = fields.text("op")
        fields.optional("id")
        operation = OPERATIONS.get(op)
        if operation is None:
            raise MalformedError("FIELD_INVALID", f"unknown op {op!r}; known: {', '.join(OPERATIONS)}", "op")
        result = operation(fields)
        fields.refuse_unknown()
        return reply | {"ok": True, "result": result}
    except MalformedError as error:
        return reply | _failed(error, error.field)
    except RulesetError as error:
        return reply | _failed(error, "ruleset")


def answer_line(line: str) -> str:
    """
    Answer one line of JSON with one line of JSON in ASCII; never raises on bad input.

    What is no JSON is answered like any question that cannot be read: numbers that are not finite, and nesting that is
    too deep to read or to echo, included.
    """
    try:
        return json.dumps(answer(json.loads(line, parse_constant=_refuse_constant)), allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps(_failed(MalformedError("FIELD_INVALID", "the line is no JSON", ""), ""))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _failed(error: EngineError, field: str) -> Result:
    return {"ok": False, "error": {"reason": error.reason, "message": error.message, "field": field}}


def _texts(cards: Iterable[Card]) -> list[str]:
    return [card.text for card in cards]


def _order(fields: Fields) -> Order:
    ruleset = read_ruleset(fields)
    if read_flag(fields, ruleset):
        trump = Suit.parse(fields.text("trump")) if fields.has("trump") else Suit.NO_TRUMP
        if trump != Suit.NO_TRUMP:
            raise MalformedError("FIELD_INVALID", "a flag deal is played without a trump suit", "trump")
        return order_for(ruleset, None, trump)
    return order_for(ruleset, Rank.parse(fields.text("level")), Suit.parse(fields.text("trump")))


def _refusal(error: RuleError) -> Result:
    return {"legal": False, "reason": error.reason, "clauses": list(error.clauses)}


def _ruleset(fields: Fields) -> Result:
    ruleset = read_ruleset(fields)
    flag = read_flag(fields, ruleset)
    return {
        "cards": 54 * ruleset.decks,
        "hand": 54 * ruleset.decks // 4 if flag else ruleset.hand,
        "bottom": 0 if flag else ruleset.bottom,
        "points": ruleset.points_total,
        "digest": ruleset.digest,
        "values": {key: list(v) if isinstance(v, tuple) else v for key, v in ruleset.values().items()},
        "clauses": {key: list(spec.clauses) for key, spec in KEYS.items()},
    }


def _first_drawer(fields: Fields) -> Result:
    """
    The highest turned card draws first (S4-10, S4-11).

    Big joker, small joker, A … 2; within a rank S > H > D > C; of the same card the first turned.
    """
    ruleset = read_ruleset(fields)
    turned = fields.get("turned")
    if not isinstance(turned, list) or not turned:
        raise MalformedError("FIELD_INVALID", "a list of [seat, card]", "turned")
    best: tuple[tuple[int, int], Seat] | None = None
    cards: list[Card] = []
    for entry in turned:
        if not isinstance(entry, list) or len(entry) != 2:
            raise MalformedError("FIELD_INVALID", "a list of [seat, card]", "turned")
        seat, card = fields.as_seat(entry[0], "turned"), as_cards([entry[1]], "turned", ruleset)[0]
        cards.append(card)
        height = (20 + card.rank if card.is_joker else card.rank, int(card.suit))
        if best is None or height > best[0]:
            best = (height, seat)
    fields.check_copies(ruleset, "turned", cards)
    assert best is not None
    return {"seat": int(best[1])}


def _sort(fields: Fields) -> Result:
    order = _order(fields)
    cards = order.sort(fields.cards("cards", order.ruleset))
    classes: dict[str, list[list[str]]] = {}
    for cls in (TRUMPS, *SUITS):
        held = order.of_class(cards, cls)
        if held:
            classes["T" if cls == TRUMPS else cls.letter] = [
                _texts(group) for _, group in groupby(held, key=order.strength)
            ]
    result: Result = {"trumps": _texts(order.of_class(cards, TRUMPS)), "classes": classes}
    if len(classes) == 1:
        result["order"] = next(iter(classes.values()))
    return result


def _shape(fields: Fields) -> Result:
    order = _order(fields)
    cards = fields.cards("cards", order.ruleset, least=1)
    shape = shape_of(order, cards)
    if shape is None:
        return {"legal": False, "reason": "NOT_ONE_CLASS", "clauses": ["S1-78", "S2b-26"], "components": []}
    return {
        "legal": True,
        "class": "T" if shape.cls == TRUMPS else shape.cls.letter,
        "components": [
            {"kind": part.kind, "cards": _texts(order.sort(part.cards)), "length": part.length}
            for part in shape.components
        ],
    }


def _lead(fields: Fields) -> Result:
    order = _order(fields)
    cards = fields.cards("cards", order.ruleset, least=1)
    hand = fields.cards("hand", order.ruleset)
    fields.check_held(cards, hand)
    fields.get("others")
    others = fields.hands_list("others", order.ruleset)
    if len(others) != 3:
        raise MalformedError("FIELD_INVALID", "the three other hands in playing order, empty where unknown", "others")
    fields.check_copies(order.ruleset, "others", hand, *others)
    side = fields.choice("leader_side", ("dealer", "catchers"), "dealer")
    empty: Result = {"throw": False, "failed": False, "played": [], "beaten": [], "penalty": 0}
    try:
        result = check_lead(order, cards, others)
    except RuleError as error:
        return empty | _refusal(error)
    penalty = order.ruleset.throw_penalty * len(cards) if result.failed else 0
    return {
        "legal": True,
        "reason": "",
        "clauses": [],
        "throw": result.throw,
        "failed": result.failed,
        "played": _texts(result.played),
        "beaten": [_texts(order.sort(part)) for part in result.beaten],
        "penalty": penalty if side == "dealer" else -penalty,
    }


def _lead_cards(fields: Fields, order: Order) -> tuple[tuple[Card, ...], Shape]:
    lead = fields.cards("lead", order.ruleset, least=1)
    shape = shape_of(order, lead)
    if shape is None:
        raise MalformedError("FIELD_INVALID", "the lead has cards of several classes", "lead")
    return lead, shape


def _follows_of(fields: Fields, order: Order) -> Follows:
    lead, _ = _lead_cards(fields, order)
    hand = fields.cards("hand", order.ruleset)
    if len(hand) < len(lead):
        raise MalformedError("FIELD_INVALID", f"the hand has fewer cards than the lead ({len(lead)})", "hand")
    fields.check_copies(order.ruleset, "hand", hand, lead)
    return Follows(order, hand, lead)


def _follow(fields: Fields) -> Result:
    order = _order(fields)
    follows = _follows_of(fields, order)
    cards = fields.cards("cards", order.ruleset)
    fields.check_held(cards, fields.cards("hand", order.ruleset))
    must = [{"kind": o.kind, "count": o.count, "from": _texts(o.cards)} for o in follows.obligations()]
    try:
        follows.check(cards)
    except RuleError as error:
        return _refusal(error) | {"must": must, "satisfying": _texts(error.satisfying)}
    return {"legal": True, "reason": "", "clauses": [], "must": must}


def _follows(fields: Fields) -> Result:
    order = _order(fields)
    follows = _follows_of(fields, order)
    limit = fields.whole("limit", 0, 10_000, 100)
    return {
        "count": follows.count(),
        "forced": _texts(follows.forced()),
        "plays": [_texts(cards) for cards in islice(follows, limit)],
    }


def _trick(fields: Fields) -> Result:
    order = _order(fields)
    plays = fields.hands_list("plays", order.ruleset)
    leader = fields.seat("leader", Seat.S0)
    if not 1 <= len(plays) <= 4 or not plays[0] or any(len(play) != len(plays[0]) for play in plays):
        raise MalformedError("FIELD_INVALID", "1 to 4 plays of the same number of cards", "plays")
    fields.check_copies(order.ruleset, "plays", *plays)
    shape = shape_of(order, plays[0])
    if shape is None:
        raise MalformedError("FIELD_INVALID", "the lead has cards of several classes", "plays")
    index = winner_index(order, plays)
    return {
        "position": index,
        "winner": (leader + index) % 4,
        "points": sum(points_of(play) for play in plays),
        "ruff": index > 0 and shape.cls != TRUMPS and all(order.is_trump(card) for card in plays[index]),
    }


def _dig(fields: Fields) -> Result:
    order = _order(fields)
    play = fields.cards("play", order.ruleset, least=1)
    bottom = fields.cards("bottom", order.ruleset)
    side = fields.choice("winner_side", ("dealer", "catchers"), "catchers")
    fields.check_copies(order.ruleset, "bottom", play, bottom)
    if shape_of(order, play) is None:
        raise MalformedError("FIELD_INVALID", "a play of several classes wins no trick", "play")
    multiplier = 0 if order.level is None else dig_multiplier(order, play)  # a flag deal has no bottom (S0-49)
    return {"multiplier": multiplier, "points": multiplier * points_of(bottom) if side == "catchers" else 0}


def _settle(fields: Fields) -> Result:
    ruleset = read_ruleset(fields)
    dealer = fields.seat("dealer")
    score = fields.whole("score", -2000, 5000)
    given = fields.get("positions")
    if not isinstance(given, Mapping):
        raise MalformedError("FIELD_INVALID", "an object with dealer and catchers", "positions")
    positions = read_positions(given, {"dealer": dealer.side, "catchers": dealer.side.other}, ruleset)
    if read_flag(fields, ruleset):
        if positions[dealer.side].level != Rank.ACE:
            raise MalformedError("FIELD_INVALID", "the dealer side of a flag deal has level A", "positions")
        positions[dealer.side] = replace(positions[dealer.side], flag=True)
    winner = fields.choice("winner_side", ("dealer", "catchers", ""), "")
    order, last_play = _last_play(fields, ruleset, positions[dealer.side].deal_level, winner)
    table_score = fields.whole("table_score", -2000, 5000, score)
    first_deal = fields.flag("first_deal")
    done = settle(
        ruleset,
        dealer,
        score,
        positions,
        order=order,
        last_winner={"dealer": dealer.side, "catchers": dealer.side.other}.get(winner),
        last_play=last_play,
        table_score=table_score,
        first_deal=first_deal,
    )
    both = (("dealer", dealer.side), ("catchers", dealer.side.other))
    return {
        "score": done.score,
        "stage": "dealer" if done.stage == dealer.side else "catchers",
        "steps": {"dealer": done.steps[0], "catchers": done.steps[1]},
        "gained": {"dealer": done.gained[0], "catchers": done.gained[1]},
        "positions": {name: _position(done.positions[side]) for name, side in both},
        "next_dealer": None if done.next_dealer is None else int(done.next_dealer),
        "jump": done.jump,
        "fall_back": done.fall_back,
        "heaven": done.heaven,
        "award": done.award,
        "payout": dict(zip(("dealer", "catchers"), done.payout or (0, 0), strict=True)),
        "game_over": done.winner is not None,
        "game_winner": None if done.winner is None else "dealer" if done.winner == dealer.side else "catchers",
    }


def _last_play(fields: Fields, ruleset: Ruleset, level: Rank | None, winner: str) -> tuple[Order, tuple[Card, ...]]:
    """The last trick's winning play and its order; what is needed to judge it must be there."""
    last_play = fields.cards("last_play", ruleset) if fields.has("last_play") else ()
    if last_play and not winner:
        raise MalformedError("FIELD_MISSING", "who won the last trick with last_play", "winner_side")
    if not fields.has("trump"):
        ranks = {(card.suit, card.rank) for card in last_play if card.points}
        if ruleset.k510 and any({(suit, 5), (suit, 10), (suit, 13)} <= ranks for suit in SUITS):
            raise MalformedError("FIELD_MISSING", "the trump decides whether last_play holds a 510K", "trump")
        return order_for(ruleset, level, Suit.NO_TRUMP), last_play
    order = order_for(ruleset, level, Suit.parse(fields.text("trump")))
    if last_play and shape_of(order, last_play) is None:
        raise MalformedError("FIELD_INVALID", "a play of several classes wins no trick", "last_play")
    return order, last_play


def _position(position: Position) -> Result:
    return {
        "level": position.level.letter,
        "lap": position.lap,
        "flag": position.flag,
        "released": [rank.letter for rank in sorted(position.released)],
    }


def _match(fields: Fields) -> Result:
    """What ends the match, by ``ruleset.match``; what does not matter there is not looked at."""
    ended = _MATCHES[read_ruleset(fields).match](fields)
    for ignored in ("games", "risen", "payouts", "on_stage", "time_up", "deals_played", "deals_set"):
        fields.optional(ignored)
    return ended


def _match_of_one_game(fields: Fields) -> Result:
    """One game decides (Q89)."""
    games = _of_sides(fields, "games", least=0)
    won = [side.text for side in Side if games[side] >= 1]
    return {"over": bool(won), "winner": won[0] if len(won) == 1 else None}


def _match_of_three(fields: Fields) -> Result:
    """Two games, or at time who is ahead in games, then levels, then the side on stage (S4-06 to S4-08, Q90)."""
    games = _of_sides(fields, "games", least=0)
    time_up = fields.flag("time_up")
    won = [side for side in Side if games[side] >= GAMES_TO_WIN]
    if len(won) > 1:
        raise MalformedError("FIELD_INVALID", "the match ends with the second game of one side", "games")
    if won or not time_up:
        return {"over": bool(won), "winner": won[0].text if won else None}
    risen = _of_sides(fields, "risen")
    level = games[Side.SIDE_02] == games[Side.SIDE_13] and risen[Side.SIDE_02] == risen[Side.SIDE_13]
    if level and not fields.has("on_stage"):
        raise MalformedError("FIELD_MISSING", "level games and levels: the side on stage last wins", "on_stage")
    on_stage = fields.choice("on_stage", tuple(side.text for side in Side), "02") if fields.has("on_stage") else None
    winner = ahead_at_time(games, risen, None if on_stage is None else Side(("02", "13").index(on_stage)))
    return {"over": True, "winner": None if winner is None else winner.text}


def _match_of_deals(fields: Fields) -> Result:
    """The set number of deals was played; the higher sum of payouts wins (S2a-04, S2a-10, Q89)."""
    if fields.has("games"):
        _of_sides(fields, "games", least=0)
    over = fields.whole("deals_played", 0, _MANY) >= fields.whole("deals_set", 1, _MANY)
    payouts = _of_sides(fields, "payouts") if over or fields.has("payouts") else {}
    winner = paid_winner(payouts) if over else None
    return {"over": over, "winner": None if winner is None else winner.text}


_MANY = 1_000_000
_MATCHES: dict[str, Callable[[Fields], Result]] = {
    "game": _match_of_one_game,
    "deals": _match_of_deals,
    "best_of_three": _match_of_three,
}
"""One row for each value of ``ruleset.match`` that is played; ``NOT_PLAYED`` in the ruleset refuses the rest."""


def _of_sides(fields: Fields, name: str, least: int = -_MANY) -> dict[Side, int]:
    """A whole number of each side."""
    given = fields.get(name)
    if not isinstance(given, Mapping) or set(given) != {side.text for side in Side}:
        raise MalformedError("FIELD_INVALID", f"an object with {name} of 02 and 13", name)
    if any(type(value) is not int or not least <= value <= _MANY for value in given.values()):
        raise MalformedError("FIELD_INVALID", f"{name}: whole numbers from {least} to {_MANY}", name)
    return {side: given[side.text] for side in Side}


OPERATIONS: dict[str, Callable[[Fields], Result]] = {
    "ruleset": _ruleset,
    "first_drawer": _first_drawer,
    "sort": _sort,
    "shape": _shape,
    "lead": _lead,
    "follow": _follow,
    "follows": _follows,
    "trick": _trick,
    "dig": _dig,
    "settle": _settle,
    "match": _match,
    "play": play_script,
}
"""Operation → what answers it."""
