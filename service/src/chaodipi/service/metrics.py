"""Metrics of the host, in a registry of their own, and the small server that shows them."""

import errno
from collections.abc import Callable

from chaodipi.service.host.errors import HostError
from chaodipi.service.match.table import ENDINGS
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server

__all__ = ["Metrics", "serve_metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 90.0)


class Metrics:
    """
    What the host counts. Labels are bounded: bots, phases, kinds, methods; never a match or a session.

    Attributes:
        registry: Holds these metrics and no others.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._decisions = self._counter("decisions", "Accepted answers", "bot", "phase")
        self._latency = self._histogram(
            "decision_seconds", "Time from a request to its accepted answer, the network included", "bot", "phase"
        )
        self._faults = self._counter("faults", "Faults of bots", "bot", "kind")
        self._late = self._counter("late_answers", "Answers that came when their time was up", "bot")
        self._strays = self._counter(
            "stray_answers", "Answers to decisions that are not open, and not late", "bot", "kind"
        )
        self._in_flight = self._gauge("tables_in_flight", "Tables that are being played")
        self._tables = self._counter("tables", "Tables that are over", "ending")
        self._pairs = self._counter("pairs", "Pairs of tables that are over and saved")
        self._reruns = self._counter("reruns", "Pairs that are played again because of a fault of the host")
        self._flagged = self._counter("flagged_pairs", "Pairs without a score because of faults of the host")
        self._saves_failed = self._counter("failed_saves", "Attempts to save a board that failed, and are made again")
        self._bot_ends = self._counter("bot_ends", "Launched bots that ended while they were needed", "bot")
        self._frames = self._counter("frames", "Frames of sessions", "direction")
        self._messages = self._counter("messages", "Messages in frames", "direction")
        self._sessions = self._gauge("sessions", "Open sessions")
        self._resumes = self._counter("resumes", "Seats that went on in a new session", "bot")
        self._queued = self._gauge("queued_bytes", "Bytes that wait for the slowest session to be read")
        self._bot_lag = self._gauge("bot_loop_lag_seconds", "How late a bot's event loop was, by its last pong", "bot")
        self._loop_lag = self._histogram("loop_lag_seconds", "How late the host's event loop was")
        self._store = self._histogram("store_seconds", "Time for one write of results")
        self._calls = self._counter("calls", "Calls that are over", "method", "reason")
        # Looking a label up is slower than counting: both are on the path of every decision.
        self._in = (self._frames.labels("in"), self._messages.labels("in"))
        self._out = (self._frames.labels("out"), self._messages.labels("out"))
        # A counter that first appears with 1 has not risen, for who reads it: alerts need the 0 before.
        for ending in ENDINGS:
            self._tables.labels(ending)
        self._known: dict[tuple[str, str], tuple[Counter, Histogram]] = {}

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"chaodipi_{name}", what, labels, registry=self.registry)

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(f"chaodipi_{name}", what, labels, registry=self.registry)

    def _histogram(self, name: str, what: str, *labels: str) -> Histogram:
        return Histogram(f"chaodipi_{name}", what, labels, buckets=_SECONDS, registry=self.registry)

    def text(self) -> str:
        """All counts as they are now, in the text format that ``/metrics`` serves."""
        return generate_latest(self.registry).decode()

    # ---- play

    def decided(self, bot: str, phase: str, think_ms: int) -> None:
        """*bot* gave an accepted answer in *phase*, *think_ms* after it was asked."""
        known = self._known.get((bot, phase))
        if known is None:
            name = phase.lower()
            known = self._known[bot, phase] = (self._decisions.labels(bot, name), self._latency.labels(bot, name))
        known[0].inc()
        known[1].observe(think_ms / 1000)

    def fault(self, bot: str, kind: str, count: int = 1) -> None:
        """*bot* committed *count* faults of *kind*."""
        self._faults.labels(bot, kind).inc(count)

    def late_answer(self, bot: str) -> None:
        """*bot* answered a decision whose time was up."""
        self._late.labels(bot).inc()

    def stray_answer(self, bot: str, kind: str) -> None:
        """*bot* answered a decision again (duplicate), or one that is decided or was never asked (stale)."""
        self._strays.labels(bot, kind).inc()

    def table_started(self) -> None:
        self._in_flight.inc()

    def table_ended(self, ending: str) -> None:
        """A table is over; *ending* as in ``TableResult.how``."""
        self._in_flight.dec()
        self._tables.labels(ending).inc()

    def pair_saved(self) -> None:
        self._pairs.inc()

    def pair_rerun(self) -> None:
        """A pair had a fault of the host and is played again."""
        self._reruns.inc()

    def save_failed(self) -> None:
        """The records or results of a board could not be written."""
        self._saves_failed.inc()

    def pair_flagged(self) -> None:
        """A pair stays without a score: the organiser has to look."""
        self._flagged.inc()

    def bot_ended(self, bot: str) -> None:
        """The process of a launched *bot* ended while it was needed."""
        self._bot_ends.labels(bot).inc()

    # ---- sessions and calls

    def session_opened(self) -> None:
        self._sessions.inc()

    def session_closed(self) -> None:
        self._sessions.dec()

    def seat_resumed(self, bot: str) -> None:
        self._resumes.labels(bot).inc()

    def watch_queue(self, longest: Callable[[], int]) -> None:
        """Ask *longest* for the longest queue of a session whenever the metrics are read."""
        self._queued.set_function(longest)

    def bot_lag(self, bot: str, lag_ms: int) -> None:
        self._bot_lag.labels(bot).set(lag_ms / 1000)

    def frame_in(self, messages: int) -> None:
        self._in[0].inc()
        self._in[1].inc(messages)

    def frame_out(self, messages: int) -> None:
        self._out[0].inc()
        self._out[1].inc(messages)

    def call_ended(self, method: str, reason: str) -> None:
        """A call of *method* (``Service/Method``) is over: OK, or the reason of its refusal."""
        self._calls.labels(method, reason).inc()

    # ---- the host itself

    def loop_lag(self, seconds: float) -> None:
        self._loop_lag.observe(seconds)

    def stored(self, seconds: float) -> None:
        """One write of results took so long."""
        self._store.observe(seconds)


def serve_metrics(metrics: Metrics, port: int, address: str = "127.0.0.1") -> tuple[int, Callable[[], None]]:
    """
    Show *metrics* at ``http://address:port/metrics``; the port (*port* 0: a free one) and how to stop.

    Raises:
        HostError: the port is in use, or the address is none of this machine; the operator's mistake.
    """
    try:
        server, thread = start_http_server(port, addr=address, registry=metrics.registry)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise HostError(f"port {port} is in use at {address}: no metrics there") from error
        raise HostError(f"no metrics at {address}:{port}: {error.strerror}") from error

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return int(server.server_port), stop
