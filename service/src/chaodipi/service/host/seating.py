"""Which sessions take the seats of a table, and how many seats each session may take."""

from collections.abc import Mapping, Sequence

from chaodipi.service.host.session import Session

__all__ = ["Sessions", "choose", "could_seat", "share"]

Sessions = Mapping[str, Sequence[Session]]
"""Open sessions by bot, the oldest first."""


def choose(bots: Sequence[str], sessions: Sessions) -> list[Session | None]:
    """A session with a free seat for each of *bots*, the emptiest of its bot; None where there is none."""
    taken: dict[str, int] = {}
    chosen: list[Session | None] = []
    for bot in bots:
        free = [(s.free - taken.get(s.id, 0), s) for s in sessions.get(bot, ())]
        best = max(free, key=lambda pair: pair[0], default=(0, None))
        session = best[1] if best[0] > 0 else None
        if session is not None:
            taken[session.id] = taken.get(session.id, 0) + 1
        chosen.append(session)
    return chosen


def could_seat(bot: str, count: int, sessions: Sessions) -> bool:
    """Whether *bot* has sessions that together take *count* seats, were none taken."""
    return sum(session.max_tables for session in sessions.get(bot, ())) >= count


def share(quota: int, sessions: Sequence[Session]) -> None:
    """Divide the *quota* of seats of one token among its *sessions*, first to those that were there first."""
    for session in sessions:
        session.max_tables = min(session.wanted, quota)
        quota -= session.max_tables
