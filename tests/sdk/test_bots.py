"""Bots on whole deals: never an illegal action, the same play twice, and a clear order of strength."""

import subprocess
import sys

import pytest
from chaodipi import sdk
from chaodipi.engine.cards import Card, Rank, Seat, Side, Suit, parse_cards
from chaodipi.engine.deal import Deal
from chaodipi.engine.events import DealStarted, Phase, ShowKind, Shown
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.sdk import Action, Bot, Decision, Show, View, play_local
from chaodipi.sdk.baselines import BASELINES
from chaodipi.sdk.baselines.blind import fail_chance

PUBLIC = (
    "Bot Decision run Session SessionError Tls TlsError play_local play_deal LocalResult default_action "
    "Action ActionKind Show Bury Play Pass Card Suit SUITS TRUMPS Rank Seat Side parse_cards format_cards Phase Event "
    "View Order order_for Shape Component runs_of Ruleset resolve preset_names"
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


@pytest.mark.parametrize("level", "23456789TJQKA")
def test_a_blind_stir_is_weighed_at_every_level(level: str) -> None:
    """The better pair is the safer stir, and what the hand excludes cannot have been shown (S0-33, S0-36, Q7)."""
    view = View(resolve("an_chao"), Seat.S1)
    at = Rank.parse(level)
    view.apply(DealStarted(Seat.S0, Seat.S0, (at, at), Side.SIDE_02, False, 0))
    club, joker = Card.of(Suit.CLUBS, at), Card.BIG_JOKER
    low, high = Show((club, club)), Show((joker, joker))
    hand = (*low.cards, *high.cards)

    assert fail_chance(view, hand, low) == 0  # nobody has shown
    view.apply(Shown(Seat.S2, ShowKind.DECLARATION, (), None, True, Phase.DECLARE))
    view.apply(Shown(Seat.S3, ShowKind.OVERCALL, (), None, True, Phase.DECLARE))
    assert fail_chance(view, hand, low) == 1
    assert 0 < fail_chance(view, hand, high) < 0.5
    assert fail_chance(view, (*hand, Card.H5), high) == 0  # only the pair of heart fives is higher


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


@pytest.mark.clauses("Q107")
def test_winners_of_a_side_double_510k_follow_the_ruleset() -> None:
    """Void in diamonds with four pairs of trumps: nothing beats it, or the two highest sets of three pairs do."""
    hands = {Seat.S0: parse_cards("D5 D5 DT DT DK DK C3"), Seat.S1: parse_cards("S3 S3 S4 S4 S9 S9 SA SA C4")}
    found = {}
    for ruff in ("same", "pairs"):
        ruleset = resolve("ming_chao", {"double_510k_ruff": ruff})
        deal = Deal.from_position(
            ruleset, hands, dealer=Seat.S0, levels=(Rank.EIGHT, Rank.EIGHT), phase=Phase.LEAD, trump=Suit.SPADES
        )
        deal.play(Seat.S0, parse_cards("D5 D5 DT DT DK DK"))
        decision = Decision(deal.observation(Seat.S1))
        found[ruff] = [sorted(cards) for cards in decision.winners()]
        assert all(deal.can_play(Seat.S1, cards) for cards in decision.winners())
    assert found == {
        "same": [],
        "pairs": [sorted(parse_cards(text)) for text in ("S3 S3 S4 S4 S9 S9", "S3 S3 S4 S4 SA SA")],
    }


def test_the_command_duels() -> None:
    command = [sys.executable, "-m", "chaodipi.sdk.cli", "duel", "greedy", "random", "--boards", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "greedy against random, ming_chao:" in done.stdout
