"""The SDK for bots: what an author imports. It stands on the engine and the protocol only.

::

    from chaodipi.sdk import Bot, run

    class Mine(Bot):
        def play(self, decision):
            return decision.cheapest_legal() if not decision.is_lead else decision.default()

    run(Mine)  # CHAODIPI_SERVER and CHAODIPI_TOKEN, or --server and --token
"""

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import SUITS, Card, Rank, Seat, Side, Suit, format_cards, parse_cards
from chaodipi.engine.events import Event, Phase
from chaodipi.engine.order import TRUMPS, Order, order_for
from chaodipi.engine.ruleset import Ruleset, preset_names, resolve
from chaodipi.engine.shapes import Component, Shape, runs_of
from chaodipi.engine.view import View
from chaodipi.sdk.bot import Bot
from chaodipi.sdk.decision import Decision, default_action
from chaodipi.sdk.local import LocalResult, play_deal, play_local
from chaodipi.sdk.process import run
from chaodipi.sdk.session import Session, SessionError
from chaodipi.sdk.tls import Tls, TlsError

__all__ = [
    "Bot",
    "Decision",
    "run",
    "Session",
    "SessionError",
    "Tls",
    "TlsError",
    "play_local",
    "play_deal",
    "LocalResult",
    "default_action",
    "Action",
    "ActionKind",
    "Show",
    "Bury",
    "Play",
    "Pass",
    "Card",
    "Suit",
    "SUITS",
    "TRUMPS",
    "Rank",
    "Seat",
    "Side",
    "parse_cards",
    "format_cards",
    "Phase",
    "Event",
    "View",
    "Order",
    "order_for",
    "Shape",
    "Component",
    "runs_of",
    "Ruleset",
    "resolve",
    "preset_names",
]
