"""One board: its number, who draws and deals, the levels; and its setup from the league's secrets."""

from collections.abc import Sequence
from dataclasses import dataclass

from chaodipi.engine.cards import Rank, Seat, Side
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.setup import Setup
from chaodipi.service.boards.shuffle import board_commitment, board_seed, first_drawer, seed_commitment, shuffled_deck

__all__ = ["Board", "Secrets", "plan_board", "setup"]

FIRST_DEAL_EVERY = 8
"""Every eighth board is a first deal: nobody is on stage, the showing decides the dealer."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """A league's secret *seed* (16 bytes or more) and its entries' *nonces* in entry order."""

    seed: bytes
    nonces: tuple[bytes, ...] = ()

    @property
    def commitment(self) -> bytes:
        """Published before the first board, 32 bytes."""
        return seed_commitment(self.seed)

    def board_seed(self, board: int, redeal: int, ruleset: Ruleset) -> bytes:
        """The seed of one shuffle; secret until all tables of the board are over."""
        return board_seed(self.seed, board, redeal, ruleset.digest, self.nonces)


@dataclass(frozen=True, slots=True)
class Board:
    """
    Everything about a board but the cards.

    Attributes:
        index: Number in the league, 0 or more; it decides the cards.
        dealer: Dealer, or None where the showing decides.
        levels: Levels of sides 02 and 13; None for both on a board that is a flag deal.
        laps: Their laps, from 1; only where the ruleset has laps.
        on_stage: Side whose level is played, None in a first deal.
    """

    index: int
    ruleset: Ruleset
    first_drawer: Seat
    first_deal: bool
    dealer: Seat | None
    levels: tuple[Rank | None, Rank | None]
    on_stage: Side | None
    laps: tuple[int, int] = (1, 1)


def plan_board(ruleset: Ruleset, secrets: Secrets, index: int, place: int | None = None) -> Board:
    """
    Board *index*: the usual mix of dealers and levels, by its *place* in the pairing (default: its index).

    Both sides stand on the same level, so neither seating has the better board. Dealer, level and then lap go
    round over the later deals only, so that first deals take no seat's turn to deal.
    """
    place = index if place is None else place
    if place % FIRST_DEAL_EVERY == FIRST_DEAL_EVERY - 1:
        start = Rank.parse(ruleset.start_level)
        drawer = first_drawer(secrets.board_seed(index, 0, ruleset))
        return Board(index, ruleset, drawer, True, None, (start, start), None)
    later = place - place // FIRST_DEAL_EVERY
    dealer = Seat(later % 4)
    level, lap = board_level(ruleset, later), 1 + later // 13 % ruleset.laps
    placing = ruleset.dealer_seat == "placing"
    return Board(index, ruleset, dealer, False, None if placing else dealer, (level, level), dealer.side, (lap, lap))


def board_level(ruleset: Ruleset, number: int) -> Rank | None:
    """The level of later deal *number*: 2 to A in turn, and the flag (None) where the ruleset has it past A."""
    if ruleset.past_ace != "flag":
        return Rank(Rank.TWO + number % 13)
    # Four dealers and 14 levels have a common divisor: one step more each 28 boards, so that all of them meet.
    place = (number + number // 28) % 14
    return None if place == 13 else Rank(Rank.TWO + place)


def setup(board: Board, secrets: Secrets, redeals: int) -> Setup:
    """The deal's setup after *redeals* redeals; the same arguments always give the same setup."""
    seed = secrets.board_seed(board.index, redeals, board.ruleset)
    return setup_from_seed(board, seed, redeals)


def setup_from_seed(board: Board, seed_of_board: bytes, redeals: int) -> Setup:
    """The setup from the shuffle's own seed, for who has only that: the reader of a record."""
    return Setup(
        ruleset=board.ruleset,
        cards=shuffled_deck(seed_of_board, board.ruleset.decks),
        first_drawer=board.first_drawer,
        dealer=board.dealer,
        levels=board.levels,
        on_stage=board.on_stage,
        first_deal=board.first_deal,
        redeals=redeals,
        laps=board.laps,
    )


def commitment(board: Board, secrets: Secrets) -> bytes:
    """What the seats are shown of the board's seed, 32 bytes."""
    return board_commitment(secrets.board_seed(board.index, 0, board.ruleset))


def shared_nonces(names: Sequence[str]) -> tuple[bytes, ...]:
    """Nonces of entries that sent none: empty, one for each of *names*."""
    return tuple(b"" for _ in names)
