"""The search for values that no position shows (``make rules-mutants``) finds what is there to find."""

import pytest
from chaodipi.engine import preset_names, resolve
from chaodipi.engine.ruleset import KEYS

from tests.support.rules_mutants import _holds, is_noticed, lines_of, mutants, others, reasons


@pytest.mark.parametrize("preset", preset_names())
def test_a_changed_threshold_is_noticed_and_an_empty_book_notices_nothing(preset: str) -> None:
    """The positions of a preset tell it from one with another threshold; no positions tell nothing."""
    mutant = preset, "stage", resolve(preset).stage + 20

    assert is_noticed(lines_of(preset), mutant)
    assert not is_noticed([], mutant)


@pytest.mark.parametrize("preset", preset_names())
def test_most_keys_are_changed(preset: str) -> None:
    """Reasons and impossible combinations leave most keys."""
    assert len({key for _, key, _ in mutants(preset)}) > 20


def test_other_values_are_allowed_ones() -> None:
    assert others("adjacency", "order") == ["unique", "face"]
    assert others("stage", 80) == [60, 100]
    assert others("throw_penalty", 0) == [3]
    assert others("must_play", ("J", "A")) == [("A",), ("J",), ("J", "A", "K")]
    assert ("D", "single", "C") in others("ladder", ("single", "D", "C"))


def test_reasons_are_about_keys() -> None:
    """A reason names a key, conditions on keys that some preset meets, and says why in a sentence."""
    for key, condition, reason in reasons():
        assert key.partition("=")[0] in KEYS
        assert all(part == "always" or part.partition("=")[0] in KEYS for part in condition.split(", "))
        assert len(reason.split()) > 2
    assert _holds(resolve("huanle_2"), "heaven=none|both")
    assert not _holds(resolve("huanle_2"), "k510=True")
