"""Entries of one owner: where they meet they could play for each other, so the organiser is told or refuses them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from chaodipi.service.scheduler.schedule import Entry

__all__ = ["SAME_OWNER", "SameOwner", "same_owners"]

SAME_OWNER = ("report", "refuse")
"""What is done about two entries of one owner."""


@dataclass(frozen=True, slots=True)
class SameOwner:
    """Two entries that meet, and what they share: an owner, or a bot."""

    first: str
    second: str
    shared: str

    def __str__(self) -> str:
        return f"entries {self.first} and {self.second} {self.shared}"


def same_owners(entries: Sequence[Entry], owners: Mapping[str, str]) -> list[SameOwner]:
    """
    Pairs of *entries* that have a bot in common, or an owner, in entry order.

    *owners*: bot → its owner's name; "" or none: unknown, which is nobody's. Names are compared without regard to
    capitals and blanks around or between words.
    """
    found = []
    for one, two in combinations(entries, 2):
        shared = _shared(one, two, owners)
        if shared:
            found.append(SameOwner(one.name, two.name, shared))
    return found


def _shared(one: Entry, two: Entry, owners: Mapping[str, str]) -> str:
    for bot in one.bots:
        if bot in two.bots:
            return f"share bot {bot}"
    theirs = {_plain(owners.get(bot, "")) for bot in two.bots}
    for bot in one.bots:
        owner = owners.get(bot, "")
        if _plain(owner) and _plain(owner) in theirs:
            return f"have one owner, {' '.join(owner.split())}"
    return ""


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
