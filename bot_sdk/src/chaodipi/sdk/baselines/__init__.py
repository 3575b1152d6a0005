"""Three bots to play against: random, greedy, rules; each stronger than the one before."""

from chaodipi.sdk.baselines.greedy import GreedyBot
from chaodipi.sdk.baselines.random import RandomBot
from chaodipi.sdk.baselines.rules import RulesBot
from chaodipi.sdk.bot import Bot

__all__ = ["BASELINES", "GreedyBot", "RandomBot", "RulesBot"]

BASELINES: dict[str, type[Bot]] = {"random": RandomBot, "greedy": GreedyBot, "rules": RulesBot}
