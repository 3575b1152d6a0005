"""A gallery of bots that break the rules of the house, to rehearse an event with; see :mod:`.gallery`."""

from chaodipi.sdk.badbots.gallery import GALLERY
from chaodipi.sdk.badbots.raw import RawBot

__all__ = ["GALLERY", "RawBot"]
