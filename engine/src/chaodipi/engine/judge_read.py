"""Reading the judge's questions: every field checked, every mistake named, nothing guessed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from chaodipi.engine.cards import Card, Rank, Seat, Side, parse_cards
from chaodipi.engine.errors import MalformedError
from chaodipi.engine.ruleset import Ruleset, check_playable, resolve
from chaodipi.engine.scoring import Position

__all__ = ["Fields", "read_flag", "read_positions", "read_ruleset"]


class Fields:
    """The fields of one question; remembers which were read, so that unknown ones can be refused."""

    def __init__(self, data: Mapping[str, Any], path: str = "") -> None:
        self._data = data
        self._path = path
        self._read: set[str] = set()

    def has(self, name: str) -> bool:
        self._read.add(name)
        return name in self._data

    def get(self, name: str) -> Any:
        self._read.add(name)
        if name not in self._data:
            raise MalformedError("FIELD_MISSING", f"field {name!r} is missing", name)
        return self._data[name]

    def optional(self, name: str, default: Any = None) -> Any:
        return self.get(name) if self.has(name) else default

    def text(self, name: str) -> str:
        value = self.get(name)
        if not isinstance(value, str):
            raise MalformedError("FIELD_INVALID", f"{name!r} is a text, not {value!r}", name)
        return value

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        value = self.get(name) if default is None else self.optional(name, default)
        if type(value) is not int or not low <= value <= high:
            raise MalformedError("FIELD_INVALID", f"{name!r} is a whole number from {low} to {high}", name)
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        value = self.optional(name, default)
        if value not in allowed:
            raise MalformedError("FIELD_INVALID", f"{name!r} is one of {', '.join(filter(None, allowed))}", name)
        return str(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.optional(name, default)
        if not isinstance(value, bool):
            raise MalformedError("FIELD_INVALID", f"{name!r} is true or false", name)
        return value

    def seat(self, name: str, default: Seat | None = None) -> Seat:
        return self.as_seat(self.get(name) if default is None else self.optional(name, default), name)

    @staticmethod
    def as_seat(value: Any, field: str) -> Seat:
        number = int(value) if isinstance(value, str) and value in ("0", "1", "2", "3") else value
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 3:
            raise MalformedError("FIELD_INVALID", f"a seat is 0, 1, 2 or 3, not {value!r}", field)
        return Seat(number)

    def cards(self, name: str, ruleset: Ruleset, least: int = 0) -> tuple[Card, ...]:
        """Cards as text or list; no more copies than the decks hold."""
        return as_cards(self.get(name), name, ruleset, least)

    def hands_list(self, name: str, ruleset: Ruleset) -> list[tuple[Card, ...]]:
        value = self.optional(name, [])
        if not isinstance(value, list):
            raise MalformedError("FIELD_INVALID", f"{name!r} is a list of card lists", name)
        return [as_cards(item, name, ruleset) for item in value]

    @staticmethod
    def check_copies(ruleset: Ruleset, field: str, *groups: Sequence[Card]) -> None:
        """All cards of a question together are no more than the decks hold."""
        for card, count in Counter(card for group in groups for card in group).items():
            if count > ruleset.decks:
                raise MalformedError("CARD_UNKNOWN", f"{count} copies of {card}: the decks hold {ruleset.decks}", field)

    @staticmethod
    def check_held(cards: Sequence[Card], hand: Sequence[Card]) -> None:
        missing = Counter(cards) - Counter(hand)
        if missing:
            names = " ".join(card.text for card in missing.elements())
            raise MalformedError("NOT_YOUR_CARDS", f"not in the hand: {names}", "cards")

    def refuse_unknown(self) -> None:
        for name in self._data:
            if name not in self._read:
                raise MalformedError("FIELD_UNKNOWN", f"unknown field {name!r}", str(name))


def as_cards(value: Any, field: str, ruleset: Ruleset, least: int = 0) -> tuple[Card, ...]:
    """Read cards from a text or a list of texts."""
    if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        raise MalformedError("FIELD_INVALID", f"{field!r} holds cards: a text or a list of texts", field)
    try:
        cards = parse_cards(value)
    except MalformedError as error:
        raise MalformedError(error.reason, error.message, field) from None
    Fields.check_copies(ruleset, field, cards)
    if len(cards) < least:
        raise MalformedError("FIELD_INVALID", f"{field!r} needs at least {least} card", field)
    return cards


def read_ruleset(fields: Fields) -> Ruleset:
    """A preset's name, or ``{"base": name, "overrides": {key: value}}``."""
    value = fields.get("ruleset")
    if isinstance(value, str):
        return resolve(value)
    if isinstance(value, Mapping) and set(value) <= {"base", "overrides"} and isinstance(value.get("base"), str):
        overrides = value.get("overrides", {})
        if isinstance(overrides, Mapping):
            ruleset = resolve(value["base"], overrides)
            check_playable(ruleset)
            return ruleset
    raise MalformedError("FIELD_INVALID", "a preset's name, or an object with base and overrides", "ruleset")


def read_positions(given: Any, names: Mapping[str, Side], ruleset: Ruleset) -> dict[Side, Position]:
    """Positions by the names that the operation uses; a position may be a level alone."""
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise MalformedError("FIELD_INVALID", f"exactly the keys {', '.join(names)}", "positions")
    return {side: _position(given[name], ruleset) for name, side in names.items()}


def read_flag(fields: Fields, ruleset: Ruleset) -> bool:
    """Whether the question is about a flag deal; only a ruleset with a flag has one."""
    flag = fields.flag("flag")
    if flag and ruleset.past_ace != "flag":
        raise MalformedError("FIELD_INVALID", "this ruleset has no flag deal", "flag")
    return flag


def _position(value: Any, ruleset: Ruleset) -> Position:
    if isinstance(value, str):
        return Position(Rank.parse(value))
    if not isinstance(value, Mapping):
        raise MalformedError("FIELD_INVALID", "a position is a level or an object with level", "positions")
    fields = Fields(value)
    released = fields.optional("released", [])
    if not isinstance(released, list):
        raise MalformedError("FIELD_INVALID", "'released' is a list of levels", "positions")
    flag = fields.flag("flag")
    if flag and ruleset.past_ace != "flag":
        raise MalformedError("FIELD_INVALID", "this ruleset has no flag deal", "positions")
    level = Rank.ACE if flag and not fields.has("level") else Rank.parse(fields.text("level"))
    if flag and level != Rank.ACE:
        raise MalformedError("FIELD_INVALID", "a side on the flag has level A", "positions")
    position = Position(
        level=level,
        lap=fields.whole("lap", 1, ruleset.laps, 1),
        flag=flag,
        released=frozenset(Rank.parse(text) for text in released),
    )
    fields.refuse_unknown()
    return position
