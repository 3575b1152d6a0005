"""Pings to every session, what their answers tell, and how late the host's own loop is."""

import asyncio
from collections.abc import Callable, Iterable

import structlog
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.session import PingSent, Session
from chaodipi.service.metrics import Metrics

__all__ = ["Pinger"]

log = structlog.get_logger("chaodipi.host")

PROBES_A_PING = 10
LAG_TO_TELL_MS = 1_000
"""Lag of a bot's loop from which on it is worth a line in the log."""


class Pinger:
    """
    Pings all of *sessions* every *interval_ms*, 0: never; the task runs from :meth:`start` to :meth:`stop`.

    A session that leaves its pings unanswered for longer than its patience is closed with SLOW_CONSUMER.
    """

    def __init__(self, interval_ms: int, sessions: Callable[[], Iterable[Session]], metrics: Metrics) -> None:
        self._interval_s = interval_ms / 1000
        self._sessions = sessions
        self._metrics = metrics
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, if it has not begun."""
        if self._task is None and self._interval_s:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """Ping nobody any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def receive(self, session: Session, nonce: int, loop_lag_ms: int) -> None:
        """The bot's word on its loop, once for each ping; what nobody asked for is not noted anywhere."""
        if nonce != session.pinged:
            return
        session.pinged = None
        self._metrics.bot_lag(session.bot, loop_lag_ms)
        if loop_lag_ms > LAG_TO_TELL_MS:
            log.info("bot_lags", bot=session.bot, session=session.id, loop_lag_ms=loop_lag_ms)

    async def _run(self) -> None:
        """How late this wakes up is how late the loop is."""
        loop = asyncio.get_running_loop()
        nonce = 0
        while True:
            for _ in range(PROBES_A_PING):
                due = loop.time() + self._interval_s / PROBES_A_PING
                await asyncio.sleep(due - loop.time())
                self._metrics.loop_lag(max(0.0, loop.time() - due))
            nonce = (nonce + 1) & 0xFFFFFFFF
            for session in self._sessions():
                _ping(session, nonce, loop.time())


def _ping(session: Session, nonce: int, now: float) -> None:
    if session.pinged is None:
        session.pinged_at = now
    elif now - session.pinged_at > session.patience_s:
        text = f"no Pong for {session.patience_s:.0f} s"
        session.close(SessionRefused(8, "SLOW_CONSUMER", f"the bot does not read what it is sent: {text}"))
    session.pinged = nonce
    session.send(PingSent(nonce))
