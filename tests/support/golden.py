"""Rule positions kept as lines of JSON: read here, asked of the judge, compared with the one right answer.

A line has ``id``, ``clauses``, ``preset``, ``ask`` (a question to the judge) and ``expect``, the part of the
result that must match, or ``error``, the part of the refusal of a question that is malformed. Cards are compared
as multisets; where a list is nested by strength, the order of the inner lists counts as well. ``one_tractor`` is
no field of a result, see :func:`mistakes`.

=========================  ===========================================================================
``golden/PRESET.jsonl``    the golden positions (``G-…``), one file a preset
``golden_extra/*.jsonl``   positions of the same form that show what no golden position shows (``X-…``)
``situations.jsonl``       what players dispute and engines got wrong (``SIT-…``), for several presets each
=========================  ===========================================================================
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from chaodipi.engine.judge import answer
from chaodipi.engine.ruleset import preset_names

RULES = Path(__file__).parents[1] / "rules"
FOLDER = RULES / "golden"
CARD = re.compile(r"[CDHS][23456789TJQKA]|bj|rj")
BY_STRENGTH = {"order", "classes", "trumps"}
ROOMS = ("an_chao", "kang_qi", "ming_chao")
ALL = (
    *ROOMS, "huanle_1", "huanle_2", "huanle_3", "baomahui", "in_play", "t_dark", "t_timed", "hunan",
)  # fmt: skip

Line = dict[str, Any]

_GROUPS: dict[str, tuple[str, ...]] = {
    "any": ALL,
    "pairs": tuple(name for name in ALL if name != "huanle_1"),
    "two_packs": tuple(name for name in ALL if name not in ("huanle_1", "huanle_3")),
    "rooms": ROOMS,
    "huanle": ("huanle_1", "huanle_2", "huanle_3"),
}
"""Words that stand for several presets; they name also presets that are not played yet."""


def lines_of(path: Path) -> list[Line]:
    """The lines of one file, empty ones left out."""
    return [json.loads(text) for text in path.read_text("utf-8").splitlines() if text]


def golden_lines() -> list[Line]:
    """Every golden line of every preset, presets in the order of their names."""
    return [line for file in sorted(FOLDER.glob("*.jsonl")) for line in lines_of(file)]


def extra_lines() -> list[Line]:
    """The project's own lines beside the golden ones, each for every preset that it names and that is played."""
    files = sorted((RULES / "golden_extra").glob("*.jsonl"))
    return [line for file in files for line in _for_each_preset(lines_of(file))]


def situations() -> list[Line]:
    """Every situation that is a question, for every preset that it names and that is played."""
    return _for_each_preset([entry for entry in lines_of(RULES / "situations.jsonl") if "ask" in entry])


def _for_each_preset(entries: list[Line]) -> list[Line]:
    """Lines like the golden ones out of entries with ``presets``, ``note`` and perhaps ``overrides``."""
    found = []
    for entry in entries:
        for preset in presets_of(entry["presets"]):
            overrides = entry.get("overrides")
            ruleset = {"base": preset, "overrides": overrides} if overrides else preset
            found.append({**entry, "preset": preset, "ask": {"ruleset": ruleset, **entry["ask"]}})
    return found


def presets_of(text: str) -> tuple[str, ...]:
    """The presets that are played, of those named by *text*: names, groups, and ``-name`` for all but one."""
    named: dict[str, None] = {}
    for word in text.split():
        if word.startswith("-"):
            del named[word[1:]]
        else:
            named.update(dict.fromkeys(_GROUPS.get(word, (word,))))
    return tuple(name for name in named if name in preset_names())


def names(lines: list[Line]) -> list[str]:
    """``ID-PRESET``, from the second line on with its number: ``G-FL-02-huanle_2/2``."""
    seen: Counter[str] = Counter()
    found = []
    for line in lines:
        name = f"{line['id']}-{line['preset']}"
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}/{seen[name]}")
    return found


def as_params(lines: list[Line]) -> list[Any]:
    """One test case a line, marked with the clauses that it shows."""
    return [
        pytest.param(line, id=name, marks=pytest.mark.clauses(*line["clauses"]))
        for line, name in zip(lines, names(lines), strict=True)
    ]


def mistakes(line: Line, overrides: Mapping[str, Any] | None = None) -> list[str]:
    """
    What the judge answers differently from what *line* expects; empty if it is right.

    ``one_tractor`` in the expectation is worked out from ``components``.

    Args:
        overrides: Values of the ruleset to replace before asking.
    """
    ask = dict(line["ask"])
    if overrides:
        ask["ruleset"] = _overridden(ask["ruleset"], overrides)
    got = answer(ask)
    if "error" in line:
        return differences({"ok": False, "error": line["error"]}, got)
    if not got.get("ok"):
        return [f"not ok: {got.get('error')}"]
    expected = dict(line["expect"])
    one_tractor = expected.pop("one_tractor", None)
    found = differences(expected, got["result"])
    if one_tractor is not None and is_one_tractor(got["result"]) is not one_tractor:
        found.append(f"one tractor: expected {one_tractor}")
    return found


def report(line: Line, found: list[str]) -> str:
    """Question, expectation, answer and differences, to read when a line fails."""
    expected = line.get("expect") or line.get("error")
    parts = ("question", line["ask"]), ("expected", expected), ("got     ", answer(dict(line["ask"])))
    texts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in parts]
    return "\n".join([f"{line['id']} ({', '.join(line['clauses'])})", *texts, *found])


def _overridden(ruleset: Any, overrides: Mapping[str, Any]) -> Any:
    if isinstance(ruleset, str):
        return {"base": ruleset, "overrides": dict(overrides)}
    return {"base": ruleset["base"], "overrides": {**ruleset.get("overrides", {}), **overrides}}


def is_cards(value: Any) -> bool:
    """Whether *value* is a list of cards that is not nested."""
    return isinstance(value, list) and bool(value) and all(isinstance(x, str) and CARD.fullmatch(x) for x in value)


def tokens(value: Any) -> list[str]:
    """Cards in either form, text or list, flattened."""
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list):
        return [card for part in value for card in tokens(part)]
    return [value]


def differences(expected: Any, got: Any, path: str = "", key: str = "") -> list[str]:
    """The places at which *got* does not have what is expected; empty if all of it is there."""
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return [f"{path}: expected an object, got {got!r}"]
        found = []
        for name, value in expected.items():
            if name not in got:
                found.append(f"{path}.{name}: missing")
            else:
                inner = key if key in BY_STRENGTH else name
                found += differences(value, got[name], f"{path}.{name}", inner)
        return found
    if is_cards(expected):
        if Counter(expected) != Counter(tokens(got)):
            return [f"{path}: expected {' '.join(expected)}, got {got!r}"]
        return []
    if isinstance(expected, list):
        if not isinstance(got, list) or len(expected) != len(got):
            return [f"{path}: expected {expected!r}, got {got!r}"]
        if all(is_cards(x) for x in expected) and key not in BY_STRENGTH:
            if sorted(sorted(x) for x in expected) != sorted(sorted(tokens(x)) for x in got):
                return [f"{path}: expected {expected!r}, got {got!r}"]
            return []
        return [
            d
            for i, (e, g) in enumerate(zip(expected, got, strict=True))
            for d in differences(e, g, f"{path}[{i}]", key)
        ]
    if expected != got or isinstance(expected, bool) != isinstance(got, bool):
        return [f"{path}: expected {expected!r}, got {got!r}"]
    return []


def is_one_tractor(result: Mapping[str, Any]) -> bool:
    """Whether the cards of a ``shape`` answer form exactly one tractor."""
    components = result.get("components") or []
    return result.get("legal", True) and len(components) == 1 and components[0]["kind"] == "tractor"


def card_fields(ask: Mapping[str, Any]) -> Iterator[list[str]]:
    """Every list of cards in a question."""
    for field in ("cards", "hand", "lead", "play", "bottom", "last_play"):
        if field in ask:
            yield tokens(ask[field])
    for field in ("plays", "others"):
        for cards in ask.get(field, ()):
            yield tokens(cards)
    for cards in ask.get("hands", {}).values():
        yield tokens(cards)
    for action in ask.get("actions", ()):
        if len(action) > 2:
            yield tokens(action[2])


def most_copies(ask: Mapping[str, Any]) -> int:
    """How many copies of one card lie in all hands of the question together."""
    held = {
        "trick": lambda: tokens(ask["plays"]),
        "lead": lambda: tokens(ask["hand"]) + tokens(ask["others"]),
        "play": lambda: tokens(list(ask["hands"].values())) + tokens(ask.get("bottom", "")),
    }.get(ask["op"])
    groups = [*card_fields(ask), *([held()] if held else [])]
    return max((n for cards in groups for n in Counter(cards).values()), default=0)
