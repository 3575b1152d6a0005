"""A second, slow implementation of following, leading and winning a trick.

It knows every preset, and the flag deal of ``kang_qi``. It shares nothing with the engine and is written straight
from the words of the rules: cards are text, every subset is tried, and nothing is clever. Tests compare the engine
with it on random positions.

A *part* of a play is ``(copies, chain)``: so many copies of each card of a chain, lowest first. ``(2, ("S9", "ST"))``
is a tractor, ``(3, ("S9",))`` a triple, ``(1, ("S9",))`` a single card.
"""

from collections import Counter
from itertools import combinations, product

FACES = "23456789TJQKA"
SUITS = "CDHS"
CARDS = [s + r for s in SUITS for r in FACES] + ["bj", "rj"]


class Table:
    """What fixes the order of the cards: the preset, level (None: a flag deal), trump, permanent 2s."""

    def __init__(self, preset, level, trump, two_permanent=False):
        self.rooms = preset in ("an_chao", "ming_chao", "kang_qi")
        self.skips_level = preset == "kang_qi"
        self.heart_510k_side = preset in ("an_chao", "ming_chao")
        self.unique = preset == "t_timed"
        self.throw_penalty = 10 if self.rooms or preset in ("t_dark", "t_timed") else 0
        self.packs = {"huanle_1": 1, "huanle_3": 3}.get(preset, 2)
        self.level, self.trump, self.two = level, trump, two_permanent or preset == "hunan"

    # the class and the strength of a card

    def card_class(self, card):
        if card in ("bj", "rj"):
            return "T"
        if self.rooms and card == "H5":
            return "T"
        if card[1] == self.level or (self.two and card[1] == "2") or card[0] == self.trump:
            return "T"
        return card[0]

    def strength(self, card):
        if self.rooms and card == "H5":
            return 100
        if card == "rj":
            return 99
        if card == "bj":
            return 98
        if card[1] == self.level:
            return 97 if card[0] == self.trump else 96
        if self.two and card[1] == "2":
            return 95 if card[0] == self.trump else 94
        return FACES.index(card[1]) + 2

    def of_class(self, cards, cls):
        return [c for c in cards if self.card_class(c) == cls]

    # chains: a chain is a tuple of cards, lowest first, of which there are so many copies each

    def chains(self, cards, copies=2):
        """Every chain of two or more adjacent pairs (triples) in the cards, which are of one class."""
        alike = alike_of(cards, copies)
        if not alike:
            return []
        if self.rooms:
            return self._face_chains(alike)
        if self.unique:
            return self._unique_chains(alike)
        cls = self.card_class(alike[0])
        line = sorted({self.strength(c) for c in CARDS if self.card_class(c) == cls})
        places = [[c for c in alike if self.strength(c) == s] for s in line]
        return straight_chains(places)

    def _unique_chains(self, pairs):
        """Big jokers, small jokers, main level in a row; and the plain cards of a suit without the level."""
        main = self.trump + self.level
        found = straight_chains([[card] if card in pairs else [] for card in (main, "bj", "rj")])
        for suit in SUITS:
            cards = [suit + face for face in FACES if face != self.level]
            found += straight_chains([[card] if card in pairs else [] for card in cards])
        return found

    def _face_chains(self, pairs):
        found = []
        for suit in SUITS:
            # ace, 2, 3 … king, ace; a chain has the ace at one end only
            faces = "A" + FACES
            if self.skips_level and suit != self.trump and self.level:
                faces = faces.replace(self.level, "")  # its neighbours are adjacent
            places = []
            for face in faces:
                card = suit + face
                in_place = card in pairs and card != "H5" and (face != self.level or suit == self.trump)
                places.append([card] if in_place else [])
            found += [c for c in straight_chains(places) if c.count(suit + "A") < 2]
        if "bj" in pairs and "rj" in pairs:
            found.append(("bj", "rj"))
        return found

    def top(self, chain):
        """The size of a tractor: by its top pair."""
        if not self.rooms:
            return self.strength(chain[-1])
        if chain == ("bj", "rj"):
            return 100
        return FACES.index(chain[-1][1]) + 2  # a low ace is the lowest card of its chain

    # the parts of a set of cards

    def split(self, cards):
        """
        Tractors as long as possible (equal: the higher), then pairs, then singles.

        With three packs triple tractors and triples come before them.
        """
        left, parts = list(cards), []
        for copies in [3, 2] if self.packs == 3 else [2]:
            while found := self.chains(left, copies):
                # equal: the pair of the lower suit joins
                best = max(found, key=lambda c: (len(c), self.top(c), [-SUITS.find(x[0]) for x in c]))
                parts.append((copies, best))
                left = without(left, cards_of((copies, best)))
            for card in alike_of(left, copies):
                parts.append((copies, (card,)))
                left = without(left, [card] * copies)
        return parts + [(1, (card,)) for card in left]

    def pattern_510k(self, cards):
        """(kind, class) if the cards are a 510K or 55-1010-KK, else None."""
        if not self.rooms:
            return None
        for suit in SUITS:
            own = [suit + "5", suit + "T", suit + "K"]
            for kind, wanted in (("510k", own), ("double_510k", own * 2)):
                if sorted(cards) == sorted(wanted):
                    classes = {self.card_class(c) for c in cards}
                    side_hearts = suit == "H" and self.card_class("HT") == self.card_class("HK") == "H"
                    if side_hearts and self.heart_510k_side:
                        return kind, "H"  # the heart five may form it with hearts a side suit
                    if len(classes) == 1:
                        return kind, classes.pop()
        return None

    def lead_class(self, cards):
        """The class of a lead; None if its cards are of several classes."""
        if found := self.pattern_510k(cards):
            return found[1]
        classes = {self.card_class(c) for c in cards}
        return classes.pop() if len(classes) == 1 else None

    # following

    def follows(self, hand, lead):
        """Every legal play of the hand on the lead, each as sorted text."""
        return {play for play in subsets(hand, len(lead)) if self.follow_legal(hand, lead, play)}

    def follow_legal(self, hand, lead, play):
        n, cls = len(lead), self.lead_class(lead)
        own = self.of_class(hand, cls)
        if len(own) <= n:
            return contains(play, own)  # all of them and any other cards
        if not contains(own, play):
            return False  # n cards of the class
        special = self.pattern_510k(lead)
        if special and cls == "T":
            if special[0] == "510k":
                trump_510k = [self.trump + f for f in "5TK"]
                if contains(own, trump_510k):
                    return contains(play, trump_510k)
            strongest = sorted((self.strength(c) for c in own), reverse=True)[:n]
            return sorted((self.strength(c) for c in play), reverse=True) == strongest
        if special and special[0] == "510k":
            same = [cls + f for f in "5TK"]
            return contains(play, same) if contains(own, same) else True
        if special:
            return any(contains(play, owed) for owed in self.owed(own, [(2, 1)] * 3))
        led = sorted(((copies, len(chain)) for copies, chain in self.split(lead) if copies > 1), reverse=True)
        return any(contains(play, owed) for owed in self.owed(own, led))

    def owed(self, own, led):
        """
        Every set of cards with which the follower can meet what was led.

        *led* holds (copies, number of neighbouring pairs or triples), the biggest first.
        """
        if not led:
            yield []
            return
        (copies, owe), later = led[0], led[1:]
        if owe == 0:
            yield from self.owed(own, later)
            return
        chains = self.chains(own, copies) if owe >= 2 else []
        if chains:
            k = min(max(len(c) for c in chains), owe)
            # any k consecutive ones of any run: the chains of length k are just these
            choices = [c for c in chains if len(c) == k]
        else:
            k = 1
            choices = [(card,) for card in alike_of(own, copies)]
        if not choices and copies == 3:
            # for each triple that is missing a pair and a card
            yield from self.owed(own, [(2, 1)] * owe + later)
            return
        if not choices:  # nothing more is owed for this tractor
            yield from self.owed(own, later)
            return
        for choice in choices:
            taken = cards_of((copies, choice))
            for rest in self.owed(without(own, taken), [(copies, owe - k), *later]):
                yield [*taken, *rest]

    # leading

    def beaten(self, cards, others):
        """The parts of these cards that another hand beats."""
        cls = self.card_class(cards[0])
        hands = [self.of_class(h, cls) for h in others]

        def is_beaten(part):
            copies, chain = part
            if len(chain) > 1:
                higher = [c for h in hands for c in self.chains(h, copies) if len(c) == len(chain)]
                return any(self.top(c) > self.top(chain) for c in higher)
            return any(self.strength(c) > self.strength(chain[0]) for h in hands for c in alike_of(h, copies))

        return [part for part in self.split(cards) if is_beaten(part)]

    def lead(self, cards, others, side="dealer"):
        """What becomes of an attempt to lead the cards."""
        if self.lead_class(cards) is None:
            return {"legal": False}
        good = {"legal": True, "throw": False, "failed": False, "played": sorted(cards), "beaten": [], "penalty": 0}
        if self.pattern_510k(cards) or len(self.split(cards)) == 1:
            return good
        good["throw"] = True
        lost = self.beaten(cards, others)
        if not lost:
            return good
        if self.rooms:
            # a 510K in the throw, if the throw does not stand without it
            for suit in SUITS:
                own = [suit + f for f in "5TK"]
                if "H5" not in own and contains(cards, own):
                    rest = without(cards, own)
                    if not rest or not self.beaten(rest, others):
                        return good
        forced = min(lost, key=lambda p: (self.strength(p[1][-1]), len(cards_of(p)), SUITS.find(p[1][-1][0])))
        penalty = self.throw_penalty * len(cards) * (1 if side == "dealer" else -1)
        return {
            **good,
            "failed": True,
            "played": sorted(cards_of(forced)),
            "beaten": sorted(sorted(cards_of(p)) for p in lost),
            "penalty": penalty,
        }

    # the winner of a trick

    def winner(self, plays):
        """The place in playing order of the play that wins."""
        lead = plays[0]
        cls = self.lead_class(lead)
        if special := self.pattern_510k(lead):
            if cls != "T":
                for place, play in enumerate(plays):
                    if place and self.pattern_510k(play) == (special[0], "T"):
                        return place
            return 0
        parts = self.split(lead)
        best, best_figure, best_ruffs = 0, self.figure(lead, parts), False
        for place, play in enumerate(plays):
            if place == 0:
                continue
            classes = {self.card_class(c) for c in play}
            follows = classes == {cls} and len(parts) == 1
            ruffs = cls != "T" and classes == {"T"}
            if not follows and not ruffs:
                continue
            figure = self.figure(play, parts)
            if figure is None:
                continue
            if (ruffs and not best_ruffs) or (ruffs == best_ruffs and figure > best_figure):
                best, best_figure, best_ruffs = place, figure, ruffs
        return best

    def figure(self, play, parts):
        """The one figure by which a play is compared; None if it does not cover the lead."""
        # triple tractor, tractor, triple, pair, single: the longest of the highest kind that was led
        copies, chain = max(parts, key=lambda p: (len(p[1]) > 1, p[0], len(p[1])))
        asked = [(c, len(ch)) for c, ch in parts if c > 1]
        covers = list(self.covers(play, asked))
        if not covers:
            return None
        if len(chain) > 1 and self.rooms:
            return max((len(c), self.top(c)) for c in self.chains(play))
        if copies == 1:
            return max(self.strength(c) for c in play)
        tops = [c for chosen in covers for k, c in chosen if (k, len(c)) == (copies, len(chain))]
        return max(self.top(c) if len(c) > 1 else self.strength(c[0]) for c in tops)

    def covers(self, play, asked):
        """Every way of taking disjoint parts with these copies and lengths out of the play."""
        if not asked:
            yield []
            return
        copies, length = asked[0]
        if length == 1:
            choices = [(card,) for card in alike_of(play, copies)]
        else:
            choices = [c for c in self.chains(play, copies) if len(c) == length]
        for choice in choices:
            part = (copies, choice)
            for more in self.covers(without(play, cards_of(part)), asked[1:]):
                yield [part, *more]


def straight_chains(places):
    """Every run of two or more neighbouring places with one card taken from each."""
    found = []
    for start in range(len(places)):
        for end in range(start + 2, len(places) + 1):
            found += list(product(*places[start:end]))
    return found


def alike_of(cards, copies):
    """Cards of which so many copies are there. Only identical cards are a pair or a triple."""
    return sorted(c for c, n in Counter(cards).items() if n >= copies)


def cards_of(part):
    copies, chain = part
    return [c for c in chain for _ in range(copies)]


def without(cards, taken):
    left = list(cards)
    for card in taken:
        left.remove(card)
    return left


def contains(cards, part):
    return not Counter(part) - Counter(cards)


def subsets(hand, n):
    """All different choices of n cards of the hand, each sorted."""
    return set(combinations(sorted(hand), n))
