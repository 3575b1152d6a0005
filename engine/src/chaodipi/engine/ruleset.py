"""A ruleset: the values that make one game of this family differ from another, with a digest.

The engine branches on these values only, never on a preset's name. :data:`KEYS` is the one
list of keys: type, allowed values, and the clauses that state them. A preset is a table of
values in :mod:`chaodipi.engine.presets`; a custom ruleset is a preset and overrides.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from chaodipi.engine.errors import RulesetError

__all__ = ["KEYS", "Key", "Ruleset", "check_playable", "is_preset", "preset_names", "resolve", "ruleset_of"]

Rungs = tuple[str, ...]
Pairs = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a ruleset: what it means, its allowed values (empty: see *kind*), its clauses."""

    doc: str
    allowed: tuple[Any, ...] = ()
    kind: type = str
    clauses: tuple[str, ...] = ()
    low: int = 0
    high: int = 0


# One line a key. Lists are ordered low to high where order matters.
KEYS: dict[str, Key] = {
    # A. deck and deal
    "decks": Key("packs", (1, 2, 3), int, ("S0-01", "S2b-03")),
    "hand": Key("cards a hand", kind=int, low=1, high=39, clauses=("S0-01",)),
    "bottom": Key("cards set aside", kind=int, low=0, high=8, clauses=("S0-01", "S2a-13")),
    "direction": Key(
        "display only: playing order on the table", ("counter_clockwise", "clockwise"), clauses=("S2a-53", "Q3")
    ),
    "start_level": Key("first level of a game", tuple("23456789TJQKA"), clauses=("S0-10", "Q32")),
    # B. ranks and trumps
    "heart_five": Key("top: always the highest trump", ("top", "plain"), clauses=("S0-18", "Q5", "Q7")),
    "two_permanent": Key("2s are always trumps", (False, True), bool, ("S2b-10", "Q8")),
    # C. tractors
    "adjacency": Key(
        "which pairs are neighbours: by order of strength, by unique next step, by printed face",
        ("order", "unique", "face"),
        clauses=("S2b-12", "S2b-13", "S4-47", "S1-83", "Q9", "Q13", "Q15"),
    ),
    "ace_low": Key("AA22 is a tractor (face only)", (False, True), bool, ("S1-86", "S1-87", "Q14")),
    "level_gap": Key(
        "the level rank closes its gap: everywhere, in side suits, nowhere",
        ("all", "side", "none"),
        clauses=("S2b-12", "S0-53", "Q11", "Q105"),
    ),
    "triples": Key("three identical cards are a pattern", (False, True), bool, ("S2b-23", "Q17", "Q117")),
    # D. 510K
    "k510": Key("510K and 55-1010-KK are patterns", (False, True), bool, ("S1-92", "S1-93", "Q116")),
    "heart_510k_side": Key(
        "the heart five joins a side heart 510K", (False, True), bool, ("S0-42", "S0-54", "Q62", "Q132")
    ),
    "double_510k_ruff": Key(
        "what ruffs a side 55-1010-KK: the trump one only, or any three pairs of trumps",
        ("same", "pairs"),
        clauses=("S1-96", "Q107"),
    ),
    # E. declaring
    "dark": Key("showings are hidden until stirring ends", (False, True), bool, ("S0-34", "S3-01", "Q99")),
    "overcall": Key(
        "how a showing is beaten while dealing: ladder, four modes, both jokers, a dark pair, a correction",
        ("ladder", "four_modes", "jokers", "dark_pair", "correction"),
        clauses=("S0-13", "S2b-17", "S2b-18", "S3-08", "S4-16", "Q21", "Q23", "Q29", "Q31"),
    ),
    "ladder": Key("rungs of showing, low to high", kind=tuple, clauses=("S0-33", "S0-47", "S0-59", "S2b-22", "S2a-46")),
    "first_showing": Key(
        "first declaration: one level card, one or a pair, or any rung",
        ("single", "single_or_pair", "rung"),
        clauses=("S0-12", "S2b-16", "S4-15", "Q20"),
    ),
    "first_dealer": Key("dealer of a first deal", ("last_shown", "first_shown"), clauses=("S0-04", "S2b-38", "Q22")),
    "dealer_seat": Key(
        "dealer of later deals", ("rotation", "placing"), clauses=("S2b-39", "S2b-40", "S4-19", "Q30", "Q91")
    ),
    "no_declare_first": Key(
        "nobody declares, first deal", ("redeal", "turn_for_dealer"), clauses=("S0-05", "S4-35", "Q24")
    ),
    "no_declare_later": Key(
        "nobody declares, later deal: turn the bottom to a level card or joker, to a level card, or all of it",
        ("turn", "turn_level", "turn_all", "no_trump", "redeal"),
        clauses=("S0-06", "S2b-19", "S2a-20", "S2a-52", "S4-33", "S4-34", "Q25", "Q26"),
    ),
    "min_trumps_to_call": Key(
        "trumps needed to call or stir a suit", kind=int, low=0, high=10, clauses=("S2a-40", "Q97", "Q128")
    ),
    "redeal_cap": Key("redeals of one deal before no trump is dealt", kind=int, low=0, high=100, clauses=("Q133",)),
    # F. stirring
    "stir": Key(
        "when the buried bottom can be taken over; in the first trick: the first lead is one card or identical ones",
        ("none", "after_bury", "first_trick"),
        clauses=("S0-20", "S2b-20", "S2a-54", "S2a-59", "Q34", "Q44", "Q45", "Q46"),
    ),
    "stir_order": Key("who is asked after a stir", ("next", "dealer_first"), clauses=("S0-20", "S2a-23", "Q34")),
    "stir_bar": Key(
        "who is passed over until another has stirred",
        ("none", "standing", "caller_and_dealer"),
        clauses=("S2a-21", "S3-07", "Q39", "Q102"),
    ),
    "stir_strength": Key(
        "a stir must be higher, may be anything (blind), or only the order counts",
        ("higher", "blind", "any"),
        clauses=("S0-21", "S0-36", "S3-04"),
    ),
    "blind_stir_fail": Key(
        "points for a stir that was not higher (blind)",
        kind=int,
        low=0,
        high=200,
        clauses=("S0-36", "S0-37", "Q36", "Q37"),
    ),
    "show_once": Key(
        "cards shown in an overcall or stir cannot be shown again", (False, True), bool, ("S3-05", "Q40", "Q100")
    ),
    "stake_doubling": Key("each overcall and stir doubles the stake", (False, True), bool, ("S2b-06", "Q47")),
    # G. play
    "throw_penalty": Key(
        "points a card of a failed throw", kind=int, low=0, high=50, clauses=("S1-81", "S1-82", "S3-50", "Q52")
    ),
    "penalty_floor": Key(
        "a penalty takes the running score below 0: never, or freely", ("zero", "none"), clauses=("S3-49", "Q78")
    ),
    "ruff_longest_tractor": Key(
        "ruffs of a tractor lead compare their longest tractor first", (False, True), bool, ("S1-88", "Q18")
    ),
    # H. scoring
    "dig_tractor": Key(
        "dig by a tractor: as a pair (4), 8, or doubling with each pair",
        ("pair", "eight", "power"),
        clauses=("S0-30", "S4-44", "S3-57", "S2d-32", "Q64", "Q65", "Q67"),
    ),
    "heaven": Key(
        "who can win 'up to heaven' (上天入地)",
        ("none", "catchers", "both"),
        clauses=("S0-43", "S0-55", "S0-65", "Q68"),
    ),
    "heaven_exact": Key("the winning play must be exactly one 510K", (False, True), bool, ("S0-44", "Q68")),
    "heaven_award": Key(
        "least award of 'up to heaven'", kind=int, low=0, high=100, clauses=("S0-46", "S0-57", "S0-67", "Q70")
    ),
    "heart_five_forced": Key(
        "points for each forced heart five", kind=int, low=0, high=200, clauses=("S0-38", "Q71", "Q106")
    ),
    "heart_five_kept": Key("points for each kept heart five", kind=int, low=0, high=200, clauses=("S0-39", "Q72")),
    "stage": Key(
        "score that brings the catchers on stage", kind=int, low=2, high=400, clauses=("S2b-45", "S2b-49", "S4-39")
    ),
    "steps": Key(
        "level table: bands of half the threshold, or 10 points a level",
        ("bands", "tens"),
        clauses=("S2b-42", "S2b-43", "S2b-44", "S2b-46", "S2b-48", "S3-12", "S4-39", "Q73", "Q74", "Q76"),
    ),
    "sweep_steps": Key("steps of the dealer side at score 0", kind=int, low=0, high=12, clauses=("S2b-42", "S4-40")),
    "jump": Key("a big sweep or 200 points jumps to A", (False, True), bool, ("S3-19", "S3-22", "Q85")),
    "first_deal_knockout": Key("a first deal can win the game", (False, True), bool, ("S3-18", "Q84")),
    "fall_back": Key(
        "J or A to the bottom: none, by the final score, by the table score",
        ("none", "final", "table"),
        clauses=("S0-60", "S0-61", "S3-15", "S3-16", "S3-17", "Q82", "Q83", "Q120"),
    ),
    # I. levels, game, match
    "must_play": Key(
        "levels that stop a climb, low to high; of several laps in the last",
        kind=tuple,
        clauses=("S0-62", "S3-11", "S4-37", "S0-40", "Q79", "Q81"),
    ),
    "must_play_release": Key(
        "a must-play level is left by winning it as dealer side, or once it was played",
        ("won", "played"),
        clauses=("S3-14", "Q80"),
    ),
    "past_ace": Key(
        "what lies past A",
        ("game_won", "next_lap", "flag", "wrap"),
        clauses=("S0-40", "S0-48", "Q87", "Q88", "Q89", "Q118"),
    ),
    "laps": Key("laps of a match", kind=int, low=1, high=3, clauses=("S0-40", "Q87")),
    "payout": Key("payouts per player", ("none", "bao"), clauses=("S2a-30", "S2a-09", "S2a-11", "Q77")),
    "match": Key(
        "what ends a match",
        ("game", "deals", "best_of_three"),
        clauses=("S2a-04", "S4-05", "S4-06", "S4-08", "Q89", "Q90"),
    ),
    # J. hosting
    "irregularities": Key(
        "referee's table used in penalise mode", ("none", "dark", "timed"), clauses=("S3-52", "S4-50", "Q94")
    ),
    "look_again": Key("the burier may look at the bottom again", (True, False), bool, ("S4-24", "Q48")),
    "bury_s": Key("seconds to bury", kind=int, low=1, high=3600, clauses=("S4-03", "Q93")),
    "play_s": Key("seconds to play or show", kind=int, low=1, high=3600, clauses=("S4-04", "Q93")),
}


@dataclass(frozen=True, slots=True)
class Ruleset:
    """All values of one game; one attribute for each key of :data:`KEYS`, in that order.

    ``name`` is a label only: it is not part of the digest, and no rule looks at it.
    """

    name: str
    decks: int
    hand: int
    bottom: int
    direction: str
    start_level: str
    heart_five: str
    two_permanent: bool
    adjacency: str
    ace_low: bool
    level_gap: str
    triples: bool
    k510: bool
    heart_510k_side: bool
    double_510k_ruff: str
    dark: bool
    overcall: str
    ladder: Rungs
    first_showing: str
    first_dealer: str
    dealer_seat: str
    no_declare_first: str
    no_declare_later: str
    min_trumps_to_call: int
    redeal_cap: int
    stir: str
    stir_order: str
    stir_bar: str
    stir_strength: str
    blind_stir_fail: int
    show_once: bool
    stake_doubling: bool
    throw_penalty: int
    penalty_floor: str
    ruff_longest_tractor: bool
    dig_tractor: str
    heaven: str
    heaven_exact: bool
    heaven_award: int
    heart_five_forced: int
    heart_five_kept: int
    stage: int
    steps: str
    sweep_steps: int
    jump: bool
    first_deal_knockout: bool
    fall_back: str
    must_play: tuple[str, ...]
    must_play_release: str
    past_ace: str
    laps: int
    payout: str
    match: str
    irregularities: str
    look_again: bool
    bury_s: int
    play_s: int

    def values(self) -> dict[str, Any]:
        """Every key and its value, in the order of :data:`KEYS`."""
        return {key: getattr(self, key) for key in KEYS}

    @property
    def digest(self) -> str:
        """SHA-256 (hex, 64 characters) of the canonical JSON of all values; the name is not in it."""
        return _digest(self)

    @property
    def points_total(self) -> int:
        """Points in the cards: 100 a pack (S0-02)."""
        return 100 * self.decks

    def override(self, overrides: Mapping[str, Any], name: str | None = None) -> "Ruleset":
        """
        This ruleset with some values replaced.

        Raises:
            RulesetError: unknown key, a value not allowed, or values that do not fit together;
                the organiser's mistake, with the key and what is allowed.
        """
        checked = {key: _checked(key, value) for key, value in overrides.items()}
        changed = replace(self, **checked, name=name or self.name)
        _check_together(changed)
        return changed


@lru_cache(maxsize=64)
def _digest(ruleset: Ruleset) -> str:
    text = json.dumps(ruleset.values(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


RUNGS = (
    "single", "C", "D", "H", "S", "bj", "rj", "both_jokers", "H5", "looking_back", "three_jokers", "four_jokers",
    "C3", "D3", "H3", "S3", "bj3", "rj3",
)  # fmt: skip
"""All rungs that a ladder may hold: a level pair by suit, a joker pair, both jokers, the heart-five pair, triples."""


def _checked(key: str, value: Any) -> Any:
    spec = KEYS.get(key)
    if spec is None:
        near = get_close_matches(key, KEYS, 3) or KEYS
        raise RulesetError(f"unknown ruleset key {key!r}; known: {', '.join(near)}", key)
    if spec.kind is tuple:
        return _checked_list(key, value)
    if spec.allowed:
        if value not in spec.allowed or type(value) is not type(spec.allowed[0]):
            raise RulesetError(f"{key} = {value!r}: allowed are {', '.join(map(repr, spec.allowed))}", key)
        return value
    if type(value) is not int or not spec.low <= value <= spec.high:
        raise RulesetError(f"{key} = {value!r}: a whole number from {spec.low} to {spec.high}", key)
    return value


def _checked_list(key: str, value: Any) -> tuple[str, ...]:
    allowed = RUNGS if key == "ladder" else tuple("23456789TJQKA")
    if not isinstance(value, list | tuple) or any(item not in allowed for item in value):
        raise RulesetError(f"{key} = {value!r}: a list of {', '.join(allowed)}", key)
    if len(set(value)) != len(value):
        raise RulesetError(f"{key} = {value!r}: an entry stands twice", key)
    return tuple(value)


def _check_together(r: Ruleset) -> None:
    """Combinations that cannot be played, each with the key to change."""
    if r.decks * 54 != 4 * r.hand + r.bottom:
        raise RulesetError(f"hand = {r.hand}: 4 hands and bottom = {r.bottom} are not {54 * r.decks} cards", "hand")
    if r.triples and r.decks < 3:
        raise RulesetError("triples = True needs decks = 3", "triples")
    if r.adjacency != "face" and r.level_gap != "all":
        raise RulesetError(
            f"level_gap = {r.level_gap!r} needs adjacency = 'face': elsewhere the gap closes", "level_gap"
        )
    if r.adjacency != "face" and r.ace_low:
        raise RulesetError("ace_low = True needs adjacency = 'face'", "ace_low")
    if r.heart_510k_side and not (r.k510 and r.heart_five == "top"):
        raise RulesetError("heart_510k_side = True needs k510 = True and heart_five = 'top'", "heart_510k_side")
    if r.heaven != "none" and not r.k510:
        raise RulesetError("heaven needs k510 = True", "heaven")
    if r.stir_strength == "blind" and not r.dark:
        raise RulesetError("stir_strength = 'blind' needs dark = True", "stir_strength")
    if r.stir_strength != "higher" and not r.show_once:
        raise RulesetError(
            f"stir_strength = {r.stir_strength!r} needs show_once = True, or stirring would never end", "show_once"
        )
    if r.stir != "none" and r.bottom == 0:
        raise RulesetError("stir needs a bottom", "stir")
    if (r.laps > 1) != (r.past_ace == "next_lap"):
        raise RulesetError(f"laps = {r.laps} does not go with past_ace = {r.past_ace!r}", "laps")
    if r.laps > 1 and r.jump:
        raise RulesetError("jump = True needs laps = 1", "jump")
    for key in ("heart_five_forced", "heart_five_kept"):
        if getattr(r, key) and r.heart_five != "top":
            raise RulesetError(f"{key} needs heart_five = 'top'", key)
    if r.heart_five_forced and r.stir == "first_trick":
        raise RulesetError(
            "heart_five_forced: cards of the first trick may be taken back with stir = 'first_trick'", "stir"
        )
    if r.dark:
        _check_dark(r)


def _check_dark(r: Ruleset) -> None:
    """What is hidden must not decide what a seat may do, or every refusal would tell of it (Q103)."""
    if r.overcall in ("four_modes", "jokers"):
        raise RulesetError(f"dark = True: overcall = {r.overcall!r} depends on the cards of others", "overcall")
    if r.stir != "none" and r.stir_strength == "higher":
        raise RulesetError("dark = True: stir_strength = 'higher' depends on the cards of others", "stir_strength")
    if r.stir == "first_trick":
        raise RulesetError("dark = True: stir = 'first_trick' would come after the showings are published", "stir")
    if r.stake_doubling:
        raise RulesetError(
            "dark = True: stake_doubling = True would tell which overcalls were too low", "stake_doubling"
        )


NOT_PLAYED: dict[str, tuple[Any, ...]] = {}
"""Values that have their place in a ruleset but no rules in the engine yet; none at present."""


def check_playable(ruleset: Ruleset) -> None:
    """
    Do nothing if the engine carries out every value of *ruleset*.

    Raises:
        RulesetError: a value whose rules are not in the engine yet, by its key.
    """
    for key, values in NOT_PLAYED.items():
        if getattr(ruleset, key) in values:
            raise RulesetError(f"{key} = {getattr(ruleset, key)!r} is not played yet", key)


def preset_names() -> tuple[str, ...]:
    """Names of the presets that this engine plays, sorted."""
    from chaodipi.engine.presets import PRESETS

    return tuple(sorted(PRESETS))


def is_preset(ruleset: Ruleset) -> bool:
    """Whether *ruleset* is a preset under its own name, so that the name alone tells every value."""
    return ruleset.name in preset_names() and _preset(ruleset.name).digest == ruleset.digest


def resolve(name: str, overrides: Mapping[str, Any] | None = None) -> Ruleset:
    """
    The ruleset of preset *name*, with *overrides* of single keys.

    Raises:
        RulesetError: no such preset (the message lists them), or a bad override.
    """
    from chaodipi.engine.presets import PRESETS

    values = PRESETS.get(name)
    if values is None:
        raise RulesetError(f"unknown preset {name!r}; known: {', '.join(preset_names())}", "ruleset")
    ruleset = _preset(name)
    return ruleset.override(overrides, name=f"{name}*") if overrides else ruleset


def ruleset_of(name: str, values: Mapping[str, Any]) -> Ruleset:
    """
    The ruleset *name* that has exactly *values*, one for each key of :data:`KEYS`; lists may stand for tuples.

    Raises:
        RulesetError: a key is unknown or missing, a value is not allowed, or values do not fit together.
    """
    checked = {key: _checked(key, value) for key, value in values.items()}
    missing = [key for key in KEYS if key not in values]
    if missing:
        raise RulesetError(f"ruleset {name}: missing {', '.join(missing)}", missing[0])
    ruleset = Ruleset(name=name, **checked)
    _check_together(ruleset)
    return ruleset


@lru_cache(maxsize=32)
def _preset(name: str) -> Ruleset:
    from chaodipi.engine.presets import PRESETS

    return ruleset_of(name, PRESETS[name])


# The attributes and the key list are one list.
assert tuple(f.name for f in fields(Ruleset))[1:] == tuple(KEYS)
