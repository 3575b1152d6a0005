"""Rulesets are data: what is refused, and by which key."""

from typing import Any

import pytest
from chaodipi.engine.errors import RulesetError
from chaodipi.engine.judge import answer
from chaodipi.engine.ruleset import KEYS, NOT_PLAYED, check_playable, preset_names, resolve
from chaodipi.engine.showing import _OVERCALLS


@pytest.mark.parametrize("name", preset_names())
def test_presets_are_played_whole(name: str) -> None:
    """A preset that is offered has no value that the engine does not carry out."""
    check_playable(resolve(name))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("levels", 3),
        ("stage", "80"),
        ("stage", True),
        ("adjacency", "near"),
        ("two_permanent", 1),
        ("ladder", ["single", "X"]),
        ("ladder", ["S", "S"]),
        ("hand", 24),
        ("triples", True),
        ("ace_low", True),
        ("heaven", "catchers"),
        ("stir_strength", "blind"),
    ],
)
def test_a_bad_override_names_its_key(key: str, value: Any) -> None:
    """Unknown keys, wrong types, values not allowed and impossible combinations are refused by key."""
    with pytest.raises(RulesetError) as refusal:
        resolve("huanle_2", {key: value})

    assert refusal.value.key == key
    assert key in refusal.value.message


@pytest.mark.parametrize("key", [key for key in NOT_PLAYED if key not in ("decks", "triples", "heaven")])
def test_a_value_without_rules_is_refused_not_misplayed(key: str) -> None:
    """The judge does not answer for rules that the engine does not have."""
    question = {"op": "ruleset", "ruleset": {"base": "ming_chao", "overrides": {key: NOT_PLAYED[key][0]}}}

    got = answer(question)

    assert not got["ok"]
    assert key in got["error"]["message"]


def test_the_digest_is_of_the_values() -> None:
    """The same values have the same digest whatever their name; another value has another digest."""
    base = resolve("huanle_2")

    assert base.override({"stage": 80}, name="mine").digest == base.digest
    assert base.override({"two_permanent": True}).digest != base.digest


def test_every_way_of_overcalling_is_played_or_refused() -> None:
    """No value of ``overcall`` is both offered and without rules."""
    assert set(_OVERCALLS) | set(NOT_PLAYED.get("overcall", ())) == set(KEYS["overcall"].allowed)
    assert not set(_OVERCALLS) & set(NOT_PLAYED.get("overcall", ()))
