"""
The rules of 炒地皮 (chao di pi): pure functions and one deal, rulesets as data.

At the prompt::

    >>> from chaodipi.engine import Deal, Setup, Seat, deck, resolve
    >>> deal = Deal(Setup(resolve("ming_chao"), deck(2)))
    >>> deal.to_act, deal.legal_actions(deal.to_act).shows[:1]

``Deal`` asks one seat at a time (``to_act``), answers ``check``, ``can`` and ``act``, and lists
``legal_actions(seat)`` lazily; ``observation(seat)`` is all that the seat may know.
"""

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import Card, Rank, Seat, Side, Suit, deck, format_cards, parse_cards, points_of
from chaodipi.engine.deal import Deal
from chaodipi.engine.errors import EngineError, MalformedError, RuleError, RulesetError
from chaodipi.engine.events import Event, Phase, ShowKind, visible
from chaodipi.engine.follow import ChoiceSet, Follows, check_follow, default_follow, legal_follows
from chaodipi.engine.game import Game
from chaodipi.engine.lead import LeadResult, check_lead
from chaodipi.engine.legal import LegalActions
from chaodipi.engine.match import Match
from chaodipi.engine.order import TRUMPS, Order, order_for
from chaodipi.engine.ruleset import Ruleset, preset_names, resolve, ruleset_of
from chaodipi.engine.scoring import Position, Settlement, dig_multiplier, settle
from chaodipi.engine.setup import Setup
from chaodipi.engine.shapes import Component, Shape, shape_of
from chaodipi.engine.showing import legal_shows
from chaodipi.engine.trick import winner_index
from chaodipi.engine.view import View

__all__ = [
    "Action", "ActionKind", "Bury", "Card", "ChoiceSet", "Component", "Deal", "EngineError", "Event",
    "Follows", "Game", "LeadResult", "LegalActions", "MalformedError", "Match", "Order", "Pass", "Phase", "Play",
    "Position", "Rank", "RuleError", "Ruleset", "RulesetError", "Seat", "Settlement", "Setup", "Shape", "Show",
    "ShowKind", "Side", "Suit", "TRUMPS", "View", "check_follow", "check_lead", "deck", "default_follow",
    "dig_multiplier", "format_cards", "legal_follows", "legal_shows", "order_for", "parse_cards", "points_of",
    "preset_names", "resolve", "ruleset_of", "settle", "shape_of", "visible", "winner_index",
]  # fmt: skip
