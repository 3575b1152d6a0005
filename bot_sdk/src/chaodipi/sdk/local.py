"""Play without a host: whole deals in this process, each board twice with the sides swapped."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from chaodipi.engine.actions import Action
from chaodipi.engine.cards import SEATS, Rank, Seat, Side, deck
from chaodipi.engine.deal import Deal
from chaodipi.engine.errors import EngineError
from chaodipi.engine.events import DealEnded, visible
from chaodipi.engine.ruleset import Ruleset, resolve
from chaodipi.engine.scoring import level_steps, stage_score
from chaodipi.engine.setup import Setup
from chaodipi.sdk.bot import Bot
from chaodipi.sdk.decision import Decision

__all__ = ["LocalResult", "play_deal", "play_local"]

BotClass = type[Bot]


@dataclass(frozen=True, slots=True)
class LocalResult:
    """
    How the first bot did against the second; one value a board, both tables summed and halved.

    Attributes:
        margins: Points margin of each board, in points a deal for the first bot: what its side caught
            (or kept from the catchers), relative to the threshold of the ruleset.
        levels: Levels climbed by the first bot less those of the second, each board, a deal.
        illegal: Answers that the rules refused (the default action was taken), over all bots.
    """

    margins: tuple[float, ...]
    levels: tuple[float, ...]
    illegal: int = field(default=0)

    @property
    def mean(self) -> float:
        """Mean margin in points a deal."""
        return sum(self.margins) / len(self.margins)

    @property
    def error(self) -> float:
        """Standard error of :attr:`mean`, from the boards."""
        return _error(self.margins)

    def __str__(self) -> str:
        levels = sum(self.levels) / len(self.levels)
        return (
            f"{self.mean:+.1f} ± {self.error:.1f} points and {levels:+.2f} ± {_error(self.levels):.2f} levels"
            f" a deal over {len(self.margins)} boards, {self.illegal} illegal"
        )


def _error(values: Sequence[float]) -> float:
    n = len(values)
    if n < 2:
        return float("inf")
    mean = sum(values) / n
    return sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)


def play_deal(setup: Setup, bots: Sequence[Bot], *, strict: bool = False, illegal: list[str] | None = None) -> Deal:
    """
    Play *setup* to its end with *bots* at seats 0…3; the finished deal.

    Args:
        strict: Raise on an illegal answer instead of taking the default action.
        illegal: Gets one text for each illegal answer.
    """
    deal = Deal(setup)
    told = 0
    while True:
        for event in deal.events[told:]:
            for seat in SEATS:
                seen = visible(event, seat)
                if seen is not None:
                    bots[seat].on_event(seen, deal.observation(seat))
                    if isinstance(seen, DealEnded):
                        bots[seat].on_deal_end(seen, deal.observation(seat))
        told = len(deal.events)
        asked = deal.to_act
        if asked is None:
            return deal
        action: Action = bots[asked].decide(Decision(deal.observation(asked), match=bots[asked].match))
        try:
            deal.act(asked, action)
        except EngineError as error:
            if strict:
                raise
            if illegal is not None:
                illegal.append(f"{asked} {action}: {error}")
            deal.act(asked, deal.default_action(asked))


def play_local(
    ruleset: Ruleset | str, bots: tuple[BotClass, BotClass], boards: int, seed: int = 0, *, strict: bool = False
) -> LocalResult:
    """
    Play *boards* boards, each twice with the sides swapped: the first bot at seats 0 and 2, then 1 and 3.

    Half of the boards are first deals, half have a dealer and a level. The same arguments give
    the same result.
    """
    rules = resolve(ruleset) if isinstance(ruleset, str) else ruleset
    margins: list[float] = []
    levels: list[float] = []
    illegal: list[str] = []
    for board in range(boards):
        points = gained = 0.0
        for ours in Side:
            deal = _play_table(rules, bots, board, seed, ours, strict, illegal)
            end, dealer = deal.view.end, deal.view.dealer
            if end is None or end.how != "played" or dealer is None:
                continue
            score = max(0, end.score)
            flag = deal.view.flag
            down, up = level_steps(rules, score, flag)
            sign = -1 if dealer.side == ours else 1
            points += sign * (score - stage_score(rules, flag)) / 2
            gained += sign * (up - down) / 2
        margins.append(points)
        levels.append(gained)
    return LocalResult(tuple(margins), tuple(levels), len(illegal))


def _play_table(
    rules: Ruleset, bots: tuple[BotClass, BotClass], board: int, seed: int, ours: Side, strict: bool, illegal: list[str]
) -> Deal:
    redeals = 0
    while True:
        setup = _setup(rules, board, seed, redeals)
        match = f"local/{seed}/{board}"
        players = [bots[0 if seat.side == ours else 1](match, seat) for seat in SEATS]
        deal = play_deal(setup, players, strict=strict, illegal=illegal)
        if deal.view.end is None or deal.view.end.how != "redeal":
            return deal
        redeals += 1


def _setup(rules: Ruleset, board: int, seed: int, redeals: int) -> Setup:
    digest = hashlib.sha256(f"chaodipi/local/{seed}/{board}/{redeals}".encode()).digest()
    rng = random.Random(digest)
    cards = list(deck(rules.decks))
    rng.shuffle(cards)
    first = Seat(board // 2 % 4)
    if board % 2 == 0:
        start = Rank.parse(rules.start_level)
        return Setup(rules, tuple(cards), first, levels=(start, start), redeals=redeals)
    place = board // 2 % (14 if rules.past_ace == "flag" else 13)
    level = None if place == 13 else Rank(2 + place)
    dealer = None if rules.dealer_seat == "placing" else first
    return Setup(rules, tuple(cards), first, dealer, (level, level), first.side, False, redeals)
