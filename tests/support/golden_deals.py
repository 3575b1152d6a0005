"""``make golden-deals``: one whole deal of every preset as text, ``tests/rules/deals/PRESET.txt``.

A preset without a file gets the deal, out of many seeds, in which the most happens. A file that is there keeps its
seed: delete it to choose anew. The players here want things to happen, and hang on nothing but the rules: what they
do follows from the seed, from documented orders and from default actions.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from chaodipi.engine import Action, Card, Deal, Pass, Phase, Play, Seat, preset_names, resolve
from chaodipi.engine.actions import Bury
from chaodipi.engine.cards import SUITS
from chaodipi.engine.defaults import default_key
from chaodipi.engine.follow import Follows
from chaodipi.engine.order import TRUMPS
from chaodipi.engine.shapes import Component, decompose
from chaodipi.engine.trick import winner_index
from chaodipi.service.boards.board import Secrets, plan_board, setup_from_seed

from tests.support.deal_story import happenings, story

__all__ = ["FOLDER", "WANTED", "deal_text", "seed_of"]

FOLDER = Path(__file__).parents[1] / "rules" / "deals"
SEEDS = 400
"""Seeds that are tried for a new preset."""

WANTED = frozenset({"overcall", "stir", "failed throw", "ruff", "points dug"})
"""What a deal worth reading has in it, where the preset knows it."""

Cards = tuple[Card, ...]


class Players:
    """All four players of a deal: they show what they can, throw, ruff, bury points and feed their partner."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked = 0

    def choose(self, deal: Deal, seat: Seat) -> Action:
        """The action of *seat*, which is asked now."""
        shows = deal.legal_actions(seat).shows
        percent = 95 if deal.phase != Phase.DECLARE else 20 if not deal.view.shown else 40
        if shows and self._pick(100) < percent:
            return shows[0 if self._pick(4) else self._pick(len(shows))]
        default = deal.default_action(seat)
        if isinstance(default, Bury):
            return Bury(self._bury(deal, seat, default.cards))
        if isinstance(default, Pass):
            return default
        return Play(self._lead(deal, seat) if deal.phase == Phase.LEAD else self._follow(deal, seat))

    def _pick(self, n: int) -> int:
        """A number from 0 to *n* − 1 that follows from the name of the deal and from how often was picked."""
        self._asked += 1
        return int.from_bytes(hashlib.sha256(f"{self._name}/{self._asked}".encode()).digest()[:8], "big") % n

    def _bury(self, deal: Deal, seat: Seat, lowest: Cards) -> Cards:
        """The lowest cards, but two side kings or tens instead of the highest of them, which makes a dig worth it."""
        side = [card for card in deal.view.hand(seat) if not deal.view.order.is_trump(card) and card not in lowest]
        points = [card for card in side if card.points == 10][:2]
        buried = (*lowest[: len(lowest) - len(points)], *points)
        return buried if deal.can(seat, Bury(buried)) else lowest

    def _lead(self, deal: Deal, seat: Seat) -> Cards:
        """A throw of the best two or three components of a class, a pattern of several cards, or one card."""
        order, hand = deal.view.order, deal.view.hand(seat)
        classes = [decompose(order, cls, same) for cls in (TRUMPS, *SUITS) if (same := order.of_class(hand, cls))]
        throws = [_cards_of(parts[: 2 + self._pick(2)]) for parts in classes if len(parts) > 1]
        large = [part.cards for parts in classes for part in parts if len(part.cards) > 1]
        single = [parts[-1 if self._pick(3) else 0].cards[:1] for parts in classes]
        for wish, percent in ((throws, 25), (large, 60)):
            allowed = [cards for cards in wish if deal.can_play(seat, cards)]
            if allowed and self._pick(100) < percent:
                return allowed[self._pick(len(allowed))]
        return single[self._pick(len(single))]

    def _follow(self, deal: Deal, seat: Seat) -> Cards:
        """Points for a partner who is winning, else the lowest play that wins, else the lowest of all."""
        view = deal.view
        follows = deal.legal_actions(seat).follows
        assert follows is not None
        lowest = partial(default_key, view.ruleset, view.level)
        plays = [play.cards for play in view.trick]
        winning = view.trick[winner_index(view.order, plays)].seat
        if winning == seat.partner:
            return follows.lowest(lambda card: (-card.points, lowest(card)))
        winners = [
            cards for cards in self._tried(deal, follows) if winner_index(view.order, [*plays, cards]) == len(plays)
        ]
        if winners and self._pick(100) < 85:
            return min(winners, key=lambda cards: (sorted(map(lowest, cards)), sorted(cards)))
        return follows.lowest(lowest)

    def _tried(self, deal: Deal, follows: Follows) -> Iterable[Cards]:
        """Follows that are looked at: all where they are few, else the strongest."""
        order = deal.view.order
        if follows.count() <= 3000:
            return follows
        return [follows.lowest(lambda card: (not order.is_trump(card), -order.strength(card), card))]


def _cards_of(parts: Iterable[Component]) -> Cards:
    return tuple(card for part in parts for card in part.cards)


def _deal(preset: str, seed: int) -> Deal:
    """The deal of *seed* at its beginning; its cards are the same in every preset of as many packs."""
    board = plan_board(resolve(preset), Secrets(b"golden deals"), seed)
    if board.first_deal:
        board = replace(board, first_drawer=Seat(seed // 8 % 4))
    return Deal(setup_from_seed(board, hashlib.sha256(f"golden deal {seed}".encode()).digest(), 0))


def deal_text(preset: str, seed: int) -> str:
    """The whole file of *preset* with the deal of *seed*."""
    deal = _deal(preset, seed)
    lines = list(story(deal, Players(f"golden deal {preset} {seed}").choose))
    head = [
        f"# {preset}: a whole deal, seed {seed}. Written by `make golden-deals`, read again by make test.",
        "# Each decision stands with its number of choices; of a lead those are the patterns that are no throw.",
        f"# Here: {', '.join(happenings(deal))}.",
        "",
    ]
    return "\n".join([*head, *lines, ""])


def seed_of(text: str) -> int:
    """The seed of a file's deal."""
    found = re.match(r"# \w+: a whole deal, seed (\d+)\.", text)
    if found is None:
        raise ValueError("the first line does not name the seed of the deal")
    return int(found[1])


def _best_seed(preset: str) -> int:
    """The seed in whose deal most of what is wanted and then the most at all happens; redeals do not count."""

    def happened(seed: int) -> tuple[int, int]:
        deal = _deal(preset, seed)
        players = Players(f"golden deal {preset} {seed}")
        while (seat := deal.to_act) is not None:
            deal.act(seat, players.choose(deal, seat))
        assert deal.view.end is not None
        found = happenings(deal) if deal.view.end.how == "played" else ()
        return len(WANTED.intersection(found)), len(found)

    return max(range(SEEDS), key=lambda seed: (happened(seed), -seed))


def _written() -> Iterator[str]:
    FOLDER.mkdir(exist_ok=True)
    for preset in preset_names():
        file = FOLDER / f"{preset}.txt"
        seed = seed_of(file.read_text("utf-8")) if file.exists() else _best_seed(preset)
        text = deal_text(preset, seed)
        changed = not file.exists() or file.read_text("utf-8") != text
        file.write_text(text, "utf-8")
        yield f"{file.relative_to(FOLDER.parents[2])}: seed {seed}, {'written' if changed else 'unchanged'}"


if __name__ == "__main__":
    for line in _written():
        print(line)
