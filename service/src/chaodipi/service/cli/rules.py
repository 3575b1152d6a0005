"""``chaodipi rules``: the rulesets for people at a terminal."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from chaodipi.engine.judge import answer
from chaodipi.engine.ruleset import KEYS, Ruleset, preset_names, resolve
from chaodipi.service.cli.demo import resolve_preset
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.rulefile import load_rule_file
from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["check_rules", "diff_rules", "explain_cards", "list_rules", "show_rules"]


def list_rules(console: Console) -> None:
    """Print every preset: what it is, its cards, its digest."""
    table = _table("preset", "cards", "digest", "what it is")
    for name in preset_names():
        r = resolve(name)
        table.add_row(name, f"4×{r.hand}+{r.bottom}", r.digest[:12], _title(name))
    console.print(table)


def show_rules(console: Console, name: str, as_json: bool) -> None:
    """Print every key of a ruleset with its value, what it means and its clauses."""
    ruleset = resolve_preset(name)
    if as_json:
        said = {"name": ruleset.name, "digest": ruleset.digest, "values": ruleset.values()}
        print(json.dumps(said, ensure_ascii=False))
        return
    console.print(f"{ruleset.name}  digest {ruleset.digest}", soft_wrap=True, highlight=False)
    table = _table("key", "value", "meaning and clauses")
    for key, spec in KEYS.items():
        meaning = f"{spec.doc} [{', '.join(spec.clauses)}]"
        table.add_row(key, escape(_text(getattr(ruleset, key))), escape(meaning))
    console.print(table)


def diff_rules(console: Console, one: str, other: str) -> None:
    """Print the keys in which two rulesets differ."""
    _print_difference(console, resolve_preset(one), resolve_preset(other))


def check_rules(console: Console, path: Path) -> None:
    """Check a ruleset file and print what it changes; ConfigError names its first mistake."""
    file = load_rule_file(path)
    console.print(f"{path}: good", soft_wrap=True, highlight=False)
    console.print(f"{file.ruleset.name}  digest {file.ruleset.digest}", soft_wrap=True, highlight=False)
    _print_difference(console, file.base, file.ruleset)


def explain_cards(console: Console, cards: str, ruleset: str, level: str, trump: str) -> None:
    """Print how *cards* stand in order, what pattern they are as a lead, and what they would dig."""
    rules = resolve_preset(ruleset)
    asked: dict[str, Any] = {"ruleset": {"base": preset_names()[0], "overrides": rules.values()}, "trump": trump}
    asked["level"] = level
    order = _ask({**asked, "op": "sort", "cards": cards})
    for name, groups in order["classes"].items():
        said = "trumps" if name == "T" else f"side suit {name}"
        console.print(f"{said}, highest first: {'  '.join(map(_equals, groups))}", highlight=False)
    shape = _ask({**asked, "op": "shape", "cards": cards})
    if shape.get("legal") is False:
        console.print("not a lead: the cards are of more than one class", highlight=False)
        return
    parts = shape["components"]
    console.print("a single pattern:" if len(parts) == 1 else f"a throw of {len(parts)} components:", highlight=False)
    for part in parts:
        length = f" of {part['length']}" if part["length"] > 1 else ""
        console.print(f"  {part['kind'].replace('_', ' ')}{length}: {' '.join(part['cards'])}", highlight=False)
    dig = _ask({**asked, "op": "dig", "play": cards, "bottom": "", "winner_side": "catchers"})
    console.print(f"wins the last trick for the catchers: the bottom counts {dig['multiplier']} times", highlight=False)


def _ask(question: dict[str, Any]) -> dict[str, Any]:
    got = answer(question)
    if not got["ok"]:
        raise UsageError(f"{got['error']['field']}: {got['error']['message']}")
    result: dict[str, Any] = got["result"]
    return result


def _equals(cards: list[str]) -> str:
    """Cards of one strength: copies side by side, different cards with a sign between."""
    return " = ".join(" ".join(card for card in cards if card == kind) for kind in dict.fromkeys(cards))


def _title(name: str) -> str:
    # A preset is a table of values; the line that says what it is stands at the top of its module.
    return (import_module(f"chaodipi.engine.presets.{name}").__doc__ or "").strip().splitlines()[0]


def _print_difference(console: Console, one: Ruleset, other: Ruleset) -> None:
    table = _table("key", one.name, other.name)
    for key in KEYS:
        left, right = getattr(one, key), getattr(other, key)
        if left != right:
            table.add_row(key, escape(_text(left)), escape(_text(right)))
    if table.row_count:
        console.print(table)
    else:
        console.print(f"{one.name} and {other.name}: no difference", highlight=False)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in headings[:-1]:
        table.add_column(heading, overflow="fold")
    table.add_column(headings[-1], overflow="fold")
    return table
