"""Bots on whole deals: never an illegal action, the same play twice, and a clear order of strength."""

import subprocess
import sys

import pytest
from chaodipi import sdk
from chaodipi.engine.ruleset import preset_names
from chaodipi.sdk import Action, Bot, Decision, play_local
from chaodipi.sdk.baselines import BASELINES

PUBLIC = (
    "Bot Decision run Session SessionError play_local play_deal LocalResult default_action Action ActionKind "
    "Show Bury Play Pass Card Suit SUITS TRUMPS Rank Seat Side parse_cards format_cards Phase Event View Order "
    "order_for Shape Component runs_of Ruleset resolve preset_names"
)


class Default(Bot):
    """Nothing overridden: a legal player all the same."""


class Small(Bot):
    """The bot of the documentation."""

    def play(self, decision: Decision) -> Action:
        if decision.is_lead:
            return decision.play(decision.lead_options()[0])
        return decision.cheapest_legal() if decision.partner_winning else decision.strongest_legal()


class Feeder(Small):
    """Uses the other building blocks."""

    def play(self, decision: Decision) -> Action:
        if decision.is_lead:
            return decision.play(decision.lead_options()[-1])
        winner = decision.cheapest_winner()
        if winner is not None:
            assert decision.beats(winner.cards)
            return winner
        return decision.richest_legal()


def test_public_names_are_these() -> None:
    assert sdk.__all__ == PUBLIC.split()
    assert all(hasattr(sdk, name) for name in sdk.__all__)


@pytest.mark.parametrize("preset", preset_names())
@pytest.mark.parametrize("bot", [*BASELINES.values(), Default, Small, Feeder])
def test_twenty_deals_without_an_illegal_action(bot: type[Bot], preset: str) -> None:
    result = play_local(preset, (bot, BASELINES["random"]), 10, seed=11, strict=True)
    assert len(result.margins) == 10
    assert result.illegal == 0


@pytest.mark.parametrize("bot", BASELINES.values())
def test_the_same_boards_give_the_same_result(bot: type[Bot]) -> None:
    first = play_local("ming_chao", (bot, BASELINES["random"]), 3, seed=5)
    assert play_local("ming_chao", (bot, BASELINES["random"]), 3, seed=5) == first


def test_a_bot_against_itself_is_even() -> None:
    result = play_local("huanle_2", (BASELINES["rules"], BASELINES["rules"]), 4, seed=2)
    assert result.margins == (0.0,) * 4


@pytest.mark.parametrize("preset", ["ming_chao", "huanle_2"])
@pytest.mark.parametrize(("better", "worse"), [("greedy", "random"), ("rules", "greedy")])
def test_the_baselines_are_in_order(better: str, worse: str, preset: str) -> None:
    result = play_local(preset, (BASELINES[better], BASELINES[worse]), 40, seed=3)
    assert result.mean > 2 * result.error, str(result)


def test_the_command_duels() -> None:
    command = [sys.executable, "-m", "chaodipi.sdk.cli", "duel", "greedy", "random", "--boards", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "greedy against random, ming_chao:" in done.stdout
