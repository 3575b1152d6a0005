"""Plays by the usual advice."""

from chaodipi.sdk.baselines.greedy import GreedyBot

__all__ = ["RulesBot"]


class RulesBot(GreedyBot):
    """Not yet more than greedy."""
