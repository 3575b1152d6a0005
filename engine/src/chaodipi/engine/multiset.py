"""
A multiset of cards as one integer, four bits a face, so that hands are counted and compared without a loop.

A field holds 0…3 copies; its upper two bits stay free, so that a difference of two multisets never borrows from
the next field. *Kinds* are a set of faces: bit 0 of each face's field. ``kinds * 2`` is the multiset with two
copies of each.
"""

from collections.abc import Iterable

from chaodipi.engine.cards import Card

__all__ = ["ALL_KINDS", "doubles", "faces", "fields_of", "kinds_of", "pack", "size", "triples", "unpack"]

_UNITS = [0] * (max(Card) + 1)
for _index, _card in enumerate(Card):
    _UNITS[_card] = 1 << 4 * _index
_FACES = tuple(Card)
_unit = _UNITS.__getitem__

ALL_KINDS = sum(_UNITS)
"""Every face once."""
_TWOS = ALL_KINDS << 1


def pack(cards: Iterable[Card]) -> int:
    """The multiset of *cards*, at most three copies of a face."""
    return sum(map(_unit, cards))


def size(packed: int) -> int:
    """How many cards *packed* holds."""
    return (packed & ALL_KINDS).bit_count() + 2 * (packed & _TWOS).bit_count()


def doubles(packed: int) -> int:
    """Kinds of which *packed* holds two copies or more."""
    return packed >> 1 & ALL_KINDS


def triples(packed: int) -> int:
    """Kinds of which *packed* holds three copies."""
    return packed & packed >> 1 & ALL_KINDS


def kinds_of(cards: Iterable[Card]) -> int:
    """The faces of *cards*, copies not counted."""
    kinds = 0
    for card in cards:
        kinds |= _UNITS[card]
    return kinds


def fields_of(cards: Iterable[Card]) -> int:
    """A mask of the whole fields of *cards*: ``packed & mask`` keeps these faces."""
    return kinds_of(cards) * 15


def faces(kinds: int) -> list[Card]:
    """The faces in *kinds*, ascending by value."""
    found = []
    while kinds:
        low = kinds & -kinds
        found.append(_FACES[low.bit_length() - 1 >> 2])
        kinds ^= low
    return found


def unpack(packed: int) -> list[Card]:
    """The cards of *packed*, ascending by value, copies side by side."""
    return [card for card in faces((packed | packed >> 1) & ALL_KINDS) for _ in range(packed // _UNITS[card] & 3)]
