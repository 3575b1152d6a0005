"""A second, slow implementation of following, leading and winning a trick, for ``ming_chao`` and ``huanle_2``.

It shares nothing with the engine and is written straight from the words of the rules: cards are text, every
subset is tried, and nothing is clever. Tests compare the engine with it on random positions.
"""

from collections import Counter
from itertools import combinations, product

FACES = "23456789TJQKA"
SUITS = "CDHS"
CARDS = [s + r for s in SUITS for r in FACES] + ["bj", "rj"]


class Table:
    """What fixes the order of the cards: the rooms (``ming_chao``) or not, level, trump, permanent 2s."""

    def __init__(self, preset, level, trump, two_permanent=False):
        self.rooms = preset == "ming_chao"
        self.level, self.trump, self.two = level, trump, two_permanent

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

    # tractors: a chain of pairs is a tuple of cards, one for each pair, lowest first

    def chains(self, cards):
        """Every chain of two or more adjacent pairs in the cards, which are of one class."""
        pairs = pairs_of(cards)
        if not pairs:
            return []
        if self.rooms:
            return self._face_chains(pairs)
        cls = self.card_class(pairs[0])
        line = sorted({self.strength(c) for c in CARDS if self.card_class(c) == cls})
        places = [[c for c in pairs if self.strength(c) == s] for s in line]
        return straight_chains(places)

    def _face_chains(self, pairs):
        found = []
        for suit in SUITS:
            # ace, 2, 3 … king, ace; a chain has the ace at one end only
            places = []
            for face in "A" + FACES:
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

    # the components of a set of cards

    def split(self, cards):
        """Tractors as long as possible (equal: the higher), then pairs, then singles."""
        left, tractors = list(cards), []
        while found := self.chains(left):
            # equal: the pair of the lower suit joins
            best = max(found, key=lambda c: (len(c), self.top(c), [-SUITS.find(x[0]) for x in c]))
            tractors.append(best)
            left = without(left, twice(best))
        pairs = pairs_of(left)
        return tractors, pairs, without(left, twice(pairs))

    def pattern_510k(self, cards):
        """(kind, class) if the cards are a 510K or 55-1010-KK, else None."""
        if not self.rooms:
            return None
        for suit in SUITS:
            own = [suit + "5", suit + "T", suit + "K"]
            for kind, wanted in (("510k", own), ("double_510k", own * 2)):
                if sorted(cards) == sorted(wanted):
                    classes = {self.card_class(c) for c in cards}
                    if suit == "H" and self.card_class("HT") == self.card_class("HK") == "H":
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
            return any(contains(play, owed) for owed in self.owed(own, [], 3))
        tractors, pairs, _ = self.split(lead)
        lengths = sorted((len(t) for t in tractors), reverse=True)
        return any(contains(play, owed) for owed in self.owed(own, lengths, len(pairs)))

    def owed(self, own, lengths, pairs):
        """Every set of cards with which the follower can meet what a lead of such tractors and pairs asks."""
        if not lengths:
            mine = pairs_of(own)
            if pairs == 0 or not mine:
                yield []
                return
            for pair in mine:
                for rest in self.owed(without(own, [pair] * 2), [], pairs - 1):
                    yield [pair, pair, *rest]
            return
        owe, later = lengths[0], lengths[1:]
        chains = self.chains(own) if owe >= 2 else []
        if chains:
            k = min(max(len(c) for c in chains), owe)
            # any k consecutive pairs of any run: the chains of length k are just these
            choices = [c for c in chains if len(c) == k]
        else:
            k = 1
            choices = [(p,) for p in pairs_of(own)] if owe else []
        if not choices:  # nothing more is owed for this tractor
            yield from self.owed(own, later, pairs)
            return
        for choice in choices:
            for rest in self.owed(without(own, twice(choice)), [owe - k, *later], pairs):
                yield [*twice(choice), *rest]

    # leading

    def beaten(self, cards, others):
        """The components of these cards that another hand beats, each a list of cards with its top card."""
        cls = self.card_class(cards[0])
        hands = [self.of_class(h, cls) for h in others]
        tractors, pairs, singles = self.split(cards)

        def tractor_beaten(t):
            return any(len(c) == len(t) and self.top(c) > self.top(t) for h in hands for c in self.chains(h))

        def pair_beaten(p):
            return any(self.strength(c) > self.strength(p) for h in hands for c in pairs_of(h))

        def single_beaten(s):
            return any(self.strength(c) > self.strength(s) for h in hands for c in h)

        return (
            [(twice(t), t[-1]) for t in tractors if tractor_beaten(t)]
            + [([p, p], p) for p in pairs if pair_beaten(p)]
            + [([s], s) for s in singles if single_beaten(s)]
        )

    def lead(self, cards, others, side="dealer"):
        """What becomes of an attempt to lead the cards."""
        if self.lead_class(cards) is None:
            return {"legal": False}
        good = {"legal": True, "throw": False, "failed": False, "played": sorted(cards), "beaten": [], "penalty": 0}
        tractors, pairs, singles = ([], [], []) if self.pattern_510k(cards) else self.split(cards)
        if len(tractors) + len(pairs) + len(singles) <= 1:
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
        played = min(lost, key=lambda b: (self.strength(b[1]), len(b[0]), SUITS.find(b[1][0])))[0]
        penalty = (10 if side == "dealer" else -10) * len(cards) if self.rooms else 0
        return {
            **good,
            "failed": True,
            "played": sorted(played),
            "beaten": sorted(sorted(b) for b, _ in lost),
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
        tractors, pairs, singles = self.split(lead)
        single_pattern = len(tractors) + len(pairs) + len(singles) == 1
        best, best_figure, best_ruffs = 0, self.figure(lead, tractors, pairs), False
        for place, play in enumerate(plays):
            if place == 0:
                continue
            classes = {self.card_class(c) for c in play}
            follows = classes == {cls} and single_pattern
            ruffs = cls != "T" and classes == {"T"}
            if not follows and not ruffs:
                continue
            figure = self.figure(play, tractors, pairs)
            if figure is None:
                continue
            if (ruffs and not best_ruffs) or (ruffs == best_ruffs and figure > best_figure):
                best, best_figure, best_ruffs = place, figure, ruffs
        return best

    def figure(self, play, tractors, pairs):
        """The one figure by which a play is compared; None if it does not cover the lead."""
        lengths = sorted((len(t) for t in tractors), reverse=True)
        tops = [t for t, left in self.covers(play, lengths) if len(pairs_of(left)) >= len(pairs)]
        if not tops:
            return None
        if tractors:
            if self.rooms:
                return max((len(c), self.top(c)) for c in self.chains(play))
            return max(self.top(t) for chosen in tops for t in chosen if len(t) == lengths[0])
        if pairs:
            return max(self.strength(p) for p in pairs_of(play))
        return max(self.strength(c) for c in play)

    def covers(self, play, lengths):
        """Every way of taking disjoint tractors of these lengths: (the tractors, the cards left)."""
        if not lengths:
            yield [], play
            return
        for chain in self.chains(play):
            if len(chain) == lengths[0]:
                for more, left in self.covers(without(play, twice(chain)), lengths[1:]):
                    yield [chain, *more], left


def straight_chains(places):
    """Every run of two or more neighbouring places with one card taken from each."""
    found = []
    for start in range(len(places)):
        for end in range(start + 2, len(places) + 1):
            found += list(product(*places[start:end]))
    return found


def pairs_of(cards):
    """Cards of which both copies are there. Only identical cards are a pair."""
    return sorted(c for c, n in Counter(cards).items() if n == 2)


def twice(cards):
    return [c for c in cards for _ in range(2)]


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
