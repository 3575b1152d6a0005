"""The host: which bots there are, which sessions they have, and which tables they play."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

import structlog
from chaodipi.engine.actions import Action
from chaodipi.engine.errors import MalformedError
from chaodipi.service.host.errors import HostError, SessionRefused
from chaodipi.service.host.identity import Grant, Principal, Tokens
from chaodipi.service.host.nonces import NonceDesk, NonceRound
from chaodipi.service.host.patience import Patience
from chaodipi.service.host.pinging import Pinger
from chaodipi.service.host.quota import Quotas, Usage
from chaodipi.service.host.runner import SeatLink, TableRunner
from chaodipi.service.host.seating import choose, could_seat, share
from chaodipi.service.host.session import Draining, Encode, Greeting, Session, Warned
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.service.metrics import Metrics

__all__ = ["Host"]

log = structlog.get_logger("chaodipi.host")

MAX_TABLES = 4096
PING_INTERVAL_MS = 5_000


class Host:
    """
    The only owner of tasks and timers.

    Attributes:
        metrics: What it counts.
        resume_window_s: How long a lost session's seats wait for the bot, clocks running.
    """

    def __init__(
        self,
        tokens: Mapping[str, str] | None = None,
        *,
        metrics: Metrics | None = None,
        resume_window_s: float = 10.0,
        ping_interval_ms: int = PING_INTERVAL_MS,
        quotas: Quotas = Quotas(),  # noqa: B008
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """
        *tokens*: name of a bot → the hash of a token with scope play that never expires.

        *wall_clock* gives Unix seconds and decides when tokens expire, nothing else.
        """
        self.metrics = metrics or Metrics()
        self.resume_window_s = resume_window_s
        self.ping_interval_ms = ping_interval_ms
        self._quotas = quotas
        self._wall_clock = wall_clock
        self._tokens = Tokens()
        self._usage: dict[str, Usage] = {}
        self._given_up: set[str] = set()
        self._sessions: dict[str, list[Session]] = {}
        self._runners: dict[str, TableRunner] = {}
        self._nonces = NonceDesk()
        self._changed = asyncio.Condition()
        self._notifying: asyncio.Task[None] | None = None
        self._pinger = Pinger(ping_interval_ms, self._all_sessions, self.metrics)
        self._draining = False
        self._on_drain: list[Callable[[], Awaitable[None]]] = []
        self._stopped = asyncio.Event()
        self.metrics.watch_queue(lambda: max((s.queued_bytes for s in self._all_sessions()), default=0))
        for name, token_hash in (tokens or {}).items():
            self.add_bot(name, token_hash)

    # ---- bots

    def add_bot(self, name: str, token_hash: str) -> None:
        """
        Let a bot in under *name*, to play.

        Raises:
            HostError: the token already belongs to another bot; the operator's mistake.
        """
        owner = self._tokens.owner(token_hash)
        if owner not in (None, name):
            raise HostError(f"the token of {name} already belongs to {owner}")
        self._tokens.set(Grant(name, token_hash))

    def set_grants(self, grants: Iterable[Grant]) -> None:
        """Add or replace *grants*; sessions whose token no longer holds end with the reason."""
        for grant in grants:
            self._tokens.set(grant)
        now = self._wall_clock()
        for session in self._all_sessions():
            try:
                self._tokens.check_id(session.token_id, now)
            except SessionRefused as error:
                session.close(error)

    def take_used(self) -> dict[str, float]:
        """Id → Unix seconds of the last use, of all tokens that were used since the last call."""
        return self._tokens.take_used()

    def authenticate(self, token: str | None) -> Principal:
        """
        Whom *token* belongs to.

        Raises:
            SessionRefused: TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED or TOKEN_REVOKED; the caller's mistake.
        """
        return self._tokens.check(token, self._wall_clock())

    def usage(self, caller: Principal) -> Usage:
        """What the token of *caller* has used of its quotas."""
        usage = self._usage.get(caller.token_id)
        if usage is None:
            usage = self._usage[caller.token_id] = Usage(self._quotas)
        return usage

    def online(self) -> dict[str, int]:
        """Open sessions by bot, bots without one too."""
        return {name: len(self._sessions.get(name, ())) for name in self._tokens.names}

    def bot_versions(self) -> dict[str, str]:
        """What the newest open session of each bot says its version is."""
        return {name: sessions[-1].greeting.bot_version for name, sessions in self._sessions.items() if sessions}

    def wall_clock(self) -> float:
        """Unix seconds, as tokens are judged by."""
        return self._wall_clock()

    def has_started(self, table_id: str) -> bool:
        """Whether the deal of a table that is being played has begun."""
        runner = self._runners.get(table_id)
        return runner is not None and runner.started

    @property
    def most_tables(self) -> int:
        """Seats that a token may hold at the same time."""
        return min(MAX_TABLES, self._quotas.matches)

    @property
    def draining(self) -> bool:
        """Whether nothing new is begun."""
        return self._draining

    @property
    def tables_in_flight(self) -> int:
        """Tables that are being played."""
        return len(self._runners)

    async def wait_for_bots(self, names: Iterable[str], timeout: float | None = None) -> None:
        """
        Wait until every bot of *names* has a session that takes seats.

        Raises:
            HostError: *timeout* seconds have passed; the message names who is missing.
        """
        wanted = sorted(set(names))

        def missing() -> list[str]:
            return [n for n in wanted if not any(s.max_tables for s in self._sessions.get(n, ()))]

        try:
            async with asyncio.timeout(timeout), self._changed:
                await self._changed.wait_for(lambda: not missing())
        except TimeoutError:
            raise HostError(f"not connected after {timeout:g} s: {', '.join(missing())}") from None

    def give_up(self, bot: str) -> None:
        """Nobody will bring *bot* back: its seats are not waited for, until it opens a session after all."""
        self._given_up.add(bot)
        for link in self._orphans(bot):
            link.runner.lose(link)
        self._notify()

    # ---- sessions

    def _all_sessions(self) -> list[Session]:
        return [session for sessions in list(self._sessions.values()) for session in list(sessions)]

    def open_session(self, caller: Principal, greeting: Greeting, encode: Encode) -> Session:
        """
        A new session of the bot of *caller*; an older one that it resumes or of the same instance ends with
        SESSION_REPLACED.

        What is queued in it is as *encode* makes it.

        Raises:
            SessionRefused: SERVER_DRAINING, or INSTANCE_LIMIT.
        """
        if self._draining:
            raise SessionRefused(14, "SERVER_DRAINING", "the host is about to stop")
        bot = caller.name
        sessions = self._sessions.setdefault(bot, [])
        for old in [s for s in sessions if s.instance == greeting.instance or s.resume_token == greeting.resume_token]:
            old.close(SessionRefused(10, "SESSION_REPLACED", "a newer session of this instance took over"))
            self.close_session(old)
        if sum(session.token_id == caller.token_id for session in sessions) >= self._quotas.sessions:
            text = f"{self._quotas.sessions} sessions of this token are open"
            raise SessionRefused(8, "INSTANCE_LIMIT", text, retry_after_s=1.0)
        session = Session(bot, greeting, caller.token_id, encode)
        sessions.append(session)
        self._given_up.discard(bot)
        self.metrics.session_opened()
        self._pinger.start()
        self._nonces.ask(session, asyncio.get_running_loop().time())
        log.info("session_opened", bot=bot, session=session.id, sdk=greeting.sdk, language=greeting.language)
        return session

    def resume(self, session: Session) -> None:
        """Give *session* the seats that its bot names by its cursors; call before anything is received."""
        if session.cursors:
            for link in self._orphans(session.bot):
                last_seq = session.cursors.pop(link.token, None)
                if last_seq is not None:
                    session.wanted = session.max_tables = max(session.max_tables, len(session.channels) + 1)
                    link.runner.attach(link, session, last_seq)

    def close_session(self, session: Session) -> None:
        """The stream of *session* is over; its seats wait for the bot for the resume window."""
        sessions = self._sessions.get(session.bot, [])
        if session not in sessions:
            return
        sessions.remove(session)
        session.close()
        self.metrics.session_closed()
        self._share(session)
        links = list(session.channels.values())
        session.channels.clear()
        log.info("session_closed", bot=session.bot, session=session.id, seats=len(links))
        in_vain = session.bot in self._given_up and not sessions
        for link in links:
            link.runner.detach(link, 0 if in_vain else self.resume_window_s)
        self._nonces.lose(session)
        for other in list(sessions):
            self._adopt(other)
            self._nonces.ask(other, asyncio.get_running_loop().time())
        self._notify()

    def receive_availability(self, session: Session, max_tables: int, draining: bool) -> None:
        """The bot takes up to *max_tables* seats in this session; none if *draining*."""
        session.wanted = 0 if draining else min(max_tables, MAX_TABLES)
        self._share(session)
        if session.max_tables < session.wanted:
            limit = str(self._quotas.matches)
            text = f"seats beyond the {limit} of this token stay empty: {session.wanted} asked for here"
            session.send(Warned(8, "QUOTA_MATCHES", text, {"limit": limit, "asked": str(session.wanted)}))
        self._adopt(session)
        self._notify()

    def _share(self, changed: Session) -> None:
        """Divide the quota of *changed*'s token among its sessions."""
        of_token = [s for s in self._sessions.get(changed.bot, ()) if s.token_id == changed.token_id]
        share(self._quotas.matches, of_token)

    def receive_ready(self, session: Session, channel: int) -> None:
        """The seat on *channel* is ready; unknown channels belong to tables that are over."""
        link = session.channels.get(channel)
        if link is not None:
            link.runner.receive_ready(link)

    def receive_answer(self, session: Session, channel: int, decision: int, action: Action | MalformedError) -> bool:
        """An answer, or one that cannot be read; False if the channel is not open."""
        link = session.channels.get(channel)
        if link is None:
            return False
        link.runner.receive_answer(link, decision, action)
        return True

    def receive_pong(self, session: Session, nonce: int, loop_lag_ms: int) -> None:
        """The bot's word on its loop, in answer to a ping."""
        self._pinger.receive(session, nonce, loop_lag_ms)

    def receive_resync(self, session: Session, channel: int, last_seq: int) -> None:
        """The bot has lost track of the seat on *channel* after *last_seq*."""
        link = session.channels.get(channel)
        if link is not None:
            link.runner.receive_resync(link, last_seq)

    def receive_leave(self, session: Session, channel: int, reason: str = "") -> None:
        """The bot gives the seat on *channel* up, for the *reason* that it says."""
        link = session.channels.pop(channel, None)
        if link is not None:
            log.info("seat_left", bot=session.bot, table=link.runner.spec.table_id, seat=int(link.seat), reason=reason)
            link.runner.detach(link, 0)
            self._notify()

    def _orphans(self, bot: str) -> list[SeatLink]:
        """Seats of *bot* that no session plays."""
        return [
            link for runner in self._runners.values() for link in runner.links if link.bot == bot and not link.session
        ]

    def _adopt(self, session: Session) -> None:
        """Give *session* seats of its bot that no session plays, as far as it takes them."""
        if session.free and self._runners:
            for link in self._orphans(session.bot):
                if not session.free:
                    return
                # Its cursor may name a seat that another stream of the bot still held when it came.
                link.runner.attach(link, session, session.cursors.pop(link.token, 0))

    def _notify(self) -> None:
        """Wake all that wait for bots or free seats; many calls in one pass are one."""
        if self._notifying is None or self._notifying.done():
            self._notifying = asyncio.get_running_loop().create_task(self._notify_all())

    async def _notify_all(self) -> None:
        await asyncio.sleep(0)
        self._notifying = None
        async with self._changed:
            self._changed.notify_all()

    # ---- nonces

    async def collect_nonces(self, bots: Mapping[str, str], seed_commitment: bytes, within_ms: int) -> dict[str, bytes]:
        """
        Ask for the nonces of a league's or match's entries, at most *within_ms*; those that came.

        A bot that is away or comes back meanwhile is asked when it opens a session. What is of no use is refused with
        a warning, and leaves everybody else's request as it is.

        Args:
            bots: Entry, ``leagues/{id}/entries/{id}`` or ``matches/{id}`` → the bot that answers for it.
            seed_commitment: 32 bytes, fixed before; the bots are shown it with the request.

        Raises:
            HostError: the host is stopping.
        """
        loop = asyncio.get_running_loop()
        asking = NonceRound(bots, seed_commitment, loop.time() + within_ms / 1000)
        self._nonces.open(asking)
        try:
            for session in self._all_sessions():
                self._nonces.ask(session, loop.time())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(asking.ends), self._changed:
                    await self._changed.wait_for(
                        lambda: self._draining or self._given_up.issuperset(asking.owing.values())
                    )
        finally:
            self._nonces.close(asking)
        if self._draining:
            raise HostError("the host is stopping: no nonces any more")
        log.info("nonces_collected", given=sorted(asking.given), empty=sorted(asking.owing))
        return asking.given

    def receive_nonce(self, session: Session, entry: str, nonce: bytes) -> None:
        """The nonce of *entry*, from the bot that answers for it or from one that does not."""
        if self._nonces.receive(session, entry, nonce):
            self._notify()

    # ---- tables

    async def play_table(self, spec: TableSpec) -> TableResult:
        """
        Play one table to its end.

        Waits while the bots seated are busy, and holds none of them meanwhile; if one is not there at all, for
        ``ready_ms``, after which its seats are played by default actions until it comes. Cancelling stops the table.

        Raises:
            HostError: the host is stopping, or a table of this id is being played.
        """
        if spec.table_id in self._runners:
            raise HostError(f"table {spec.table_id} is being played")
        chosen = await self._seats_for(spec)
        if self._draining:
            raise HostError("the host is stopping: no new tables")
        try:
            runner = TableRunner(spec, self.metrics, self._freed)
        except Exception:
            log.exception("table_failed", table=spec.table_id)
            return TableResult(spec.table_id, "host_fault", 0, None, None, (), note="the table could not be set up")
        self.metrics.table_started()
        log.info("table_started", table=spec.table_id, bots=spec.bots)
        self._runners[spec.table_id] = runner
        runner.seat(chosen)
        try:
            return await asyncio.shield(runner.done)
        except asyncio.CancelledError:
            runner.stop("cancelled")
            raise
        finally:
            self._runners.pop(spec.table_id, None)

    async def _seats_for(self, spec: TableSpec) -> list[Session | None]:
        """
        A session with a free seat for each seat.

        Bots that are here are waited for as long as they are busy, and never passed over. A bot that is away is waited
        for ``ready_ms``, or not at all if it was given up; then its seats have None. All are chosen at once, so that
        who waits for the others is free for other tables.
        """
        loop = asyncio.get_running_loop()
        patience = Patience(spec.time.ready_ms / 1000)
        async with self._changed:
            while True:
                if self._draining:
                    raise HostError("the host is stopping: no new tables")
                chosen = choose(spec.bots, self._sessions)
                missing = {bot for bot in spec.bots if not could_seat(bot, spec.bots.count(bot), self._sessions)}
                busy = {bot for bot, session in zip(spec.bots, chosen, strict=True) if session is None} - missing
                left_s = patience.left_s(missing - self._given_up, loop.time())
                if not busy and not left_s:
                    return chosen
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_s or None):
                        await self._changed.wait()

    def _freed(self, link: SeatLink) -> None:
        if link.session is not None:
            link.session.channels.pop(link.channel, None)
            link.session = None
        self._notify()

    # ---- the end

    def on_drain(self, tell: Callable[[], Awaitable[None]]) -> None:
        """Have *tell* awaited as soon as the host drains: whoever answers for its health needs to know."""
        self._on_drain.append(tell)

    async def drain(self, timeout_s: float) -> None:
        """Begin nothing new, tell health checks and bots, and wait up to *timeout_s* for the tables in flight."""
        if not self._draining:
            self._draining = True
            for tell in self._on_drain:
                await tell()
        self._notify()
        for sessions in self._sessions.values():
            for session in sessions:
                session.send(Draining(int(timeout_s * 1000)))
        running = [runner.done for runner in self._runners.values()]
        if running:
            await asyncio.wait(running, timeout=timeout_s)

    async def stop(self, timeout_s: float = 5.0) -> None:
        """
        Stop in this order: nothing new, tables in flight get *timeout_s*, the rest ends as host
        faults, sessions end. Stop the server after it.
        """
        await self.drain(timeout_s)
        for runner in list(self._runners.values()):
            runner.stop("the host stopped")
        for sessions in list(self._sessions.values()):
            for session in list(sessions):
                session.close()
        self._pinger.stop()
        deadline = asyncio.get_running_loop().time() + 2
        while any(self._sessions.values()) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        self._stopped.set()

    async def wait_stopped(self) -> None:
        """Wait until :meth:`stop` is done."""
        await self._stopped.wait()
