"""Cards, suits, ranks, seats and sides: the values that everything else is made of.

A card is its printed face only; whether it is trump, and how strong it is, is a
question for :class:`chaodipi.engine.order.Order`. The two (or three) copies of a card are
the *same* value: hands are multisets, written as sorted tuples.

Text form: suit letter and rank (``S9``, ``HT``), ``bj`` the small (black) joker, ``rj`` the
big (red) joker. Wire form: the integer value, ``suit << 4 | rank``.
"""

from collections.abc import Iterable
from enum import IntEnum

from chaodipi.engine.errors import MalformedError

__all__ = [
    "Card",
    "Rank",
    "Seat",
    "Side",
    "Suit",
    "deck",
    "format_cards",
    "parse_cards",
    "points_of",
]


class Suit(IntEnum):
    """A printed suit, or no trump (无主); ordered C < D < H < S, the order of ties."""

    CLUBS = 1
    DIAMONDS = 2
    HEARTS = 3
    SPADES = 4
    NO_TRUMP = 5
    """Only ever a trump, never the suit of a card. Jokers print it as their suit."""

    @property
    def letter(self) -> str:
        """``C D H S`` or ``NT``."""
        return _SUIT_LETTERS[self]

    @classmethod
    def parse(cls, text: str) -> "Suit":
        """Read ``C D H S NT``; :class:`MalformedError` for anything else."""
        suit = _SUITS_BY_LETTER.get(text.upper()) if isinstance(text, str) else None
        if suit is None:
            raise MalformedError("TRUMP_UNKNOWN", f"unknown trump {text!r}: one of C D H S NT", "trump")
        return suit


_SUIT_LETTERS = {
    Suit.CLUBS: "C",
    Suit.DIAMONDS: "D",
    Suit.HEARTS: "H",
    Suit.SPADES: "S",
    Suit.NO_TRUMP: "NT",
}
_SUITS_BY_LETTER = {letter: suit for suit, letter in _SUIT_LETTERS.items()}

SUITS = (Suit.CLUBS, Suit.DIAMONDS, Suit.HEARTS, Suit.SPADES)


class Rank(IntEnum):
    """A printed rank 2…A (14), or a joker's. Levels are ranks 2…A."""

    TWO = 2
    THREE = 3
    FOUR = 4
    FIVE = 5
    SIX = 6
    SEVEN = 7
    EIGHT = 8
    NINE = 9
    TEN = 10
    JACK = 11
    QUEEN = 12
    KING = 13
    ACE = 14

    @property
    def letter(self) -> str:
        """``2`` … ``9 T J Q K A``."""
        return _RANK_LETTERS[self - 2]

    @classmethod
    def parse(cls, text: str) -> "Rank":
        """Read ``2`` … ``9 T J Q K A`` (``10`` too); :class:`MalformedError` for anything else."""
        rank = _RANKS_BY_LETTER.get(text.upper()) if isinstance(text, str) else None
        if rank is None:
            raise MalformedError("LEVEL_UNKNOWN", f"unknown level {text!r}: one of 2 3 4 5 6 7 8 9 T J Q K A", "level")
        return rank


_RANK_LETTERS = "23456789TJQKA"
_RANKS_BY_LETTER = {letter: Rank(i + 2) for i, letter in enumerate(_RANK_LETTERS)} | {"10": Rank.TEN}


class Card(IntEnum):
    """One of the 54 faces; its value is the number on the wire, ``suit << 4 | rank``."""

    C2 = 0x12
    C3 = 0x13
    C4 = 0x14
    C5 = 0x15
    C6 = 0x16
    C7 = 0x17
    C8 = 0x18
    C9 = 0x19
    CT = 0x1A
    CJ = 0x1B
    CQ = 0x1C
    CK = 0x1D
    CA = 0x1E
    D2 = 0x22
    D3 = 0x23
    D4 = 0x24
    D5 = 0x25
    D6 = 0x26
    D7 = 0x27
    D8 = 0x28
    D9 = 0x29
    DT = 0x2A
    DJ = 0x2B
    DQ = 0x2C
    DK = 0x2D
    DA = 0x2E
    H2 = 0x32
    H3 = 0x33
    H4 = 0x34
    H5 = 0x35
    H6 = 0x36
    H7 = 0x37
    H8 = 0x38
    H9 = 0x39
    HT = 0x3A
    HJ = 0x3B
    HQ = 0x3C
    HK = 0x3D
    HA = 0x3E
    S2 = 0x42
    S3 = 0x43
    S4 = 0x44
    S5 = 0x45
    S6 = 0x46
    S7 = 0x47
    S8 = 0x48
    S9 = 0x49
    ST = 0x4A
    SJ = 0x4B
    SQ = 0x4C
    SK = 0x4D
    SA = 0x4E
    SMALL_JOKER = 0x51
    BIG_JOKER = 0x52

    # Set once for each of the 54 members: attribute reads are on every hot path.
    # A joker's rank is 1 (small) or 2 (big); never compare it with printed ranks.
    suit: Suit
    rank: int
    points: int
    is_joker: bool
    text: str

    def __init__(self, value: int) -> None:
        printed = value & 15
        self.suit = Suit(value >> 4)
        self.rank = printed
        self.is_joker = value >> 4 == 5
        self.points = 0 if self.is_joker else 5 if printed == 5 else 10 if printed in (10, 13) else 0
        if self.is_joker:
            self.text = "bj" if printed == 1 else "rj"
        else:
            self.text = _SUIT_LETTERS[self.suit] + _RANK_LETTERS[printed - 2]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def of(cls, suit: Suit, rank: int) -> "Card":
        """The card of *suit* (not NO_TRUMP) and *rank* 2…14."""
        return cls(suit << 4 | rank)

    @classmethod
    def parse(cls, text: str) -> "Card":
        """Read one card, either case: ``S9``, ``ht``, ``bj``. :class:`MalformedError` if unknown."""
        card = _CARDS_BY_TEXT.get(text.lower()) if isinstance(text, str) else None
        if card is None:
            raise MalformedError(
                "CARD_UNKNOWN", f"unknown card {text!r}: a suit C D H S and a rank 2…9 T J Q K A, or bj rj", "cards"
            )
        return card


_CARDS_BY_TEXT = {card.text.lower(): card for card in Card}

HEART_FIVE = Card.H5


class Seat(IntEnum):
    """A place at the table, 0…3 in playing order; seats 0 and 2 are partners, 1 and 3 too."""

    S0 = 0
    S1 = 1
    S2 = 2
    S3 = 3

    @property
    def next(self) -> "Seat":
        """The seat that plays after this one (下家)."""
        return SEATS[(self + 1) & 3]

    @property
    def partner(self) -> "Seat":
        """The seat opposite (对家)."""
        return SEATS[(self + 2) & 3]

    @property
    def side(self) -> "Side":
        return Side.SIDE_13 if self & 1 else Side.SIDE_02

    def __str__(self) -> str:
        return str(int(self))


SEATS = (Seat.S0, Seat.S1, Seat.S2, Seat.S3)


class Side(IntEnum):
    """A partnership: seats 0 and 2, or seats 1 and 3. Text form ``02`` and ``13``."""

    SIDE_02 = 0
    SIDE_13 = 1

    @property
    def text(self) -> str:
        return "13" if self else "02"

    @property
    def other(self) -> "Side":
        return Side(1 - self)

    @property
    def seats(self) -> tuple[Seat, Seat]:
        return (Seat(self), Seat(self + 2))

    def __str__(self) -> str:
        return self.text


def deck(packs: int) -> tuple[Card, ...]:
    """All cards of *packs* packs (1…3), wire values ascending, copies adjacent."""
    return tuple(card for card in Card for _ in range(packs))


def parse_cards(text: "str | Iterable[str]") -> tuple[Card, ...]:
    """
    Read cards separated by blanks, or an iterable of card texts, in the order given.

    Raises:
        MalformedError: ``CARD_UNKNOWN`` naming the text that is no card; the caller's mistake.
    """
    parts = text.split() if isinstance(text, str) else text
    return tuple(Card.parse(part) for part in parts)


def format_cards(cards: Iterable[Card]) -> str:
    """The cards' texts separated by blanks, in the order given; the inverse of :func:`parse_cards`."""
    return " ".join(card.text for card in cards)


def points_of(cards: Iterable[Card]) -> int:
    """Points (分) of *cards*: 5 for a five, 10 for a ten or king (S0-02)."""
    return sum(card.points for card in cards)
