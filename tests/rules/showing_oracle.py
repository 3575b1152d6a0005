"""
A second, slow implementation of declaring and stirring, out of the words of the rules (rooms, huanle, baomahui).

Nothing of it comes from the engine: cards are texts, a hand is a Counter, and every rule is asked anew each time. It
knows only what the rules say of who may show which cards, what is trump then, who is asked, and what is booked.

Rules: S0-12 to S0-22, S0-32 to S0-37, S0-47, S0-58, S0-59, S2a-02, S2a-17 to S2a-26, S2b-16 to S2b-24; Q7, Q20 to Q23,
Q27, Q34 to Q37, Q39, Q42, Q47, Q100, Q102, Q103, Q113, Q114.
"""

from collections import Counter
from dataclasses import dataclass

ROOMS = ("an_chao", "kang_qi", "ming_chao")
HUANLE = ("huanle_2", "huanle_3")
JOKERS = ("bj", "rj")
BACK = "looking back"
_PAIRS = ["single", "D", "C", "H", "S", "bj", "rj"]
LADDERS = {
    "an_chao": ["single", "C", "D", "S", "H", "bj", "rj", "H5", BACK],
    "kang_qi": [*_PAIRS, "H5"],
    "ming_chao": [*_PAIRS, "H5", BACK],
    "huanle_2": _PAIRS,
    "huanle_3": [*_PAIRS, "D3", "C3", "H3", "S3", "bj3", "rj3"],
    "baomahui": _PAIRS,
}
"""Low to high."""


@dataclass(frozen=True)
class Shown:
    """One showing that was accepted."""

    seat: int
    cards: tuple[str, ...]
    rung: str
    trump: str


class Deal:
    """A deal from the declaring to the first lead; an action that is refused answers False and changes nothing."""

    def __init__(self, preset, level, hands, bottom, dealer):
        self.preset, self.level, self.dealer = preset, level, dealer
        self.hands = {seat: Counter(cards) for seat, cards in hands.items()}
        self.bottom = Counter(bottom)
        self.copies = 3 if preset == "huanle_3" else 2
        self.phase, self.to_act, self.owner = "declare", None, None
        self.shown: list[Shown] = []
        self.standing: Shown | None = None
        self.caller: int | None = None
        self.stirs, self.stake, self.asked, self.failed = 0, 1, [], []

    def worth(self, cards, named, back):
        """Rung and trump of *cards*, None if they are no showing of this preset."""
        card, count = cards[0], len(cards)
        if set(cards) != {card}:
            return None
        of_level = card not in JOKERS and card[1] == self.level
        if self.preset in ROOMS and card == "H5" and count == 2 and not back:
            return ("H5", named) if named else None  # at level 5 too (Q7)
        if named or (back and (count != 2 or not of_level)) or not (of_level or card in JOKERS):
            return None
        name = card if card in JOKERS else card[0]
        rung = BACK if back else {1: "single" if of_level else "", 2: name, 3: f"{name}3"}[count]
        return (rung, "NT" if card in JOKERS else card[0]) if rung in LADDERS[self.preset] else None

    def higher(self, rung, other):
        ladder = LADDERS[self.preset]
        return ladder.index(rung) > ladder.index(other)

    def may_look_back(self, seat, cards):
        """The single first declaration, completed by who made it, once somebody else has shown (Q27)."""
        if not self.shown or any(s.rung == BACK for s in self.shown):
            return False
        first = self.shown[0]
        return first.seat == seat and first.cards * 2 == tuple(cards) and any(s.seat != seat for s in self.shown)

    def show(self, seat, cards, named=None, back=False):
        """*seat* declares, overcalls or stirs with *cards*, by the phase."""
        worth = self.worth(cards, named, back)
        if worth is None or Counter(cards) - self.hands[seat]:
            return False
        shown = Shown(seat, tuple(cards), *worth)
        if self.phase == "declare":
            allowed = self._may_overcall(shown) if self.shown else self._may_declare(shown)
        else:
            allowed = self.phase == "stir" and seat == self.to_act and self._may_stir(shown)
        if not allowed or (self.preset == "an_chao" and self._was_shown(shown)):
            return False
        self._double(shown)
        above = self.standing is None or self.higher(shown.rung, self.standing.rung)
        if self.preset == "an_chao" and not above:
            self.failed += [seat] if self.phase == "stir" else []  # too low in the dark: it changes nothing (Q36, Q103)
        else:
            self.standing = shown
        self.shown.append(shown)
        if self.phase == "stir":
            self.stirs += 1
            self._take(seat)
        return True

    def _may_declare(self, shown):
        if self.preset in HUANLE:
            return shown.rung in ("single", "C", "D", "H", "S")
        return shown.rung != BACK

    def _may_overcall(self, shown):
        if shown.rung == BACK:
            return self.may_look_back(shown.seat, shown.cards)
        if self.preset in HUANLE:
            return self._may_overcall_in_huanle(shown)
        if self.preset == "an_chao":  # only what the seat knows itself speaks against it (Q103)
            return shown.rung != "single" and shown.seat != self.shown[-1].seat
        return shown.seat != self.standing.seat and self.higher(shown.rung, self.standing.rung)

    def _may_overcall_in_huanle(self, shown):
        jokers = [s.rung for s in self.shown if s.trump == "NT"]
        if shown.trump == "NT":
            return not jokers or self.higher(shown.rung, jokers[-1])
        first = self.shown[0]
        # Of self-protect, overcall and self-overcall only the first that occurs (S2b-18).
        if shown.rung == "single" or first.rung != "single" or len(self.shown) > 1:
            return False
        return shown.seat == first.seat or shown.trump != first.trump

    def _may_stir(self, shown):
        if not self.shown or shown.rung == "single":
            return False
        if shown.rung == BACK and not self.may_look_back(shown.seat, shown.cards):
            return False
        return self.preset == "an_chao" or self.higher(shown.rung, self.standing.rung)

    def _was_shown(self, shown):
        """Each physical card once in an overcall or stir; the declaration does not count (Q100)."""
        if not self.shown:
            return False
        later = Counter(card for s in self.shown[1:] for card in s.cards)
        return any(count > self.copies for count in (later + Counter(shown.cards)).values())

    def _double(self, shown):
        """Overcalls and stirs double the stake, the declaration and its strengthening do not (Q47)."""
        if self.preset not in HUANLE or not self.shown:
            return
        first = self.shown[0]
        protects = self.phase == "declare" and (shown.seat, shown.trump) == (first.seat, first.trump)
        self.stake *= 1 if protects else 2

    def close(self):
        """The bottom goes to the dealer, in a first deal to who showed last, in huanle to who showed first (Q22)."""
        if self.dealer is None:
            self.dealer = self.shown[0].seat if self.preset in HUANLE else self.standing.seat
        self.caller = self.standing.seat if self.standing else None
        self._take(self.dealer)

    def _take(self, seat):
        self.hands[seat] += self.bottom
        self.owner = self.to_act = seat
        self.phase = "bury"

    def bury(self, cards):
        self.bottom = Counter(cards)
        self.hands[self.owner] -= self.bottom
        order = [(self.owner + i) % 4 for i in (1, 2, 3)]
        if self.preset == "baomahui":  # the dealer first (S2a-23)
            order = [seat for i in range(4) if (seat := (self.dealer + i) % 4) != self.owner]
        # Until somebody has stirred the caller is passed over; in huanle nobody is (Q39, Q102).
        barred = {"baomahui": {self.caller, self.dealer}}.get(self.preset, {self.caller})
        if self.preset in HUANLE or self.stirs:
            barred = set()
        self._waiting = [seat for seat in order if seat not in barred] if self.shown else []
        self.phase = "stir"
        self.next()

    def next(self):
        """The seat that was asked passes, or the first one is asked."""
        if self._waiting:
            self.to_act = self._waiting.pop(0)
            self.asked.append(self.to_act)
        else:
            self.phase, self.to_act = "play", self.dealer

    @property
    def booked(self):
        """(seat, change of the catchers' score) of each blind stir that failed (S0-37)."""
        return [(seat, 80 if seat % 2 == self.dealer % 2 else -80) for seat in self.failed]
