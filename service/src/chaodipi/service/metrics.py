"""Metrics of the host, in a registry of their own, and the small server that shows them."""

from collections.abc import Callable

from chaodipi.service.host.errors import HostError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server

__all__ = ["Metrics", "serve_metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 90.0)


class Metrics:
    """
    What the host counts.

    Attributes:
        registry: Holds these metrics and no others.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._decisions = Counter("chaodipi_decisions", "Accepted answers", ["bot", "phase"], registry=registry)
        self._latency = Histogram(
            "chaodipi_decision_seconds",
            "Time from a request to the answer that was accepted, the network included",
            ["phase"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._faults = Counter("chaodipi_faults", "Faults of bots", ["bot", "kind"], registry=registry)
        self._in_flight = Gauge("chaodipi_tables_in_flight", "Tables that are being played", registry=registry)
        self._tables = Counter("chaodipi_tables", "Tables that are over", ["ending"], registry=registry)
        self._frames = Counter("chaodipi_frames", "Frames of sessions", ["direction"], registry=registry)
        self._messages = Counter("chaodipi_messages", "Messages in frames", ["direction"], registry=registry)
        self._sessions = Gauge("chaodipi_sessions", "Open sessions", registry=registry)
        # Looking a label up is slower than counting: both are on the path of every decision.
        self._in = (self._frames.labels("in"), self._messages.labels("in"))
        self._out = (self._frames.labels("out"), self._messages.labels("out"))
        self._known: dict[tuple[str, str], tuple[Counter, Histogram]] = {}

    def text(self) -> str:
        """All counts as they are now, in the text format that ``/metrics`` serves."""
        return generate_latest(self.registry).decode()

    def decided(self, bot: str, phase: str, think_ms: int) -> None:
        """*bot* gave an accepted answer in *phase*, *think_ms* after it was asked."""
        known = self._known.get((bot, phase))
        if known is None:
            name = phase.lower()
            known = self._known[bot, phase] = (self._decisions.labels(bot, name), self._latency.labels(name))
        known[0].inc()
        known[1].observe(think_ms / 1000)

    def fault(self, bot: str, kind: str, count: int = 1) -> None:
        """*bot* committed *count* faults of *kind*."""
        self._faults.labels(bot, kind).inc(count)

    def table_started(self) -> None:
        self._in_flight.inc()

    def table_ended(self, ending: str) -> None:
        """A table is over; *ending* as in ``TableResult.how``."""
        self._in_flight.dec()
        self._tables.labels(ending).inc()

    def session_opened(self) -> None:
        self._sessions.inc()

    def session_closed(self) -> None:
        self._sessions.dec()

    def frame_in(self, messages: int) -> None:
        self._in[0].inc()
        self._in[1].inc(messages)

    def frame_out(self, messages: int) -> None:
        self._out[0].inc()
        self._out[1].inc(messages)


def serve_metrics(metrics: Metrics, port: int, address: str = "127.0.0.1") -> tuple[int, Callable[[], None]]:
    """
    Show *metrics* at ``http://address:port/metrics``; the port (*port* 0: a free one) and how to stop.

    Raises:
        HostError: the port is in use; the operator's mistake.
    """
    try:
        server, thread = start_http_server(port, addr=address, registry=metrics.registry)
    except OSError as error:
        raise HostError(f"port {port} is in use at {address}: no metrics there") from error

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return int(server.server_port), stop
