"""How much one token may send: buckets that fill with time. Told the time, so pure."""

from dataclasses import dataclass

from chaodipi.service.host.errors import SessionRefused

__all__ = ["Bucket", "Quotas", "Usage"]


@dataclass(frozen=True, slots=True)
class Quotas:
    """
    Limits for each token, over all its sessions. A burst is what may come at once.

    Attributes:
        sessions: Open sessions.
        matches: Seats held at the same time; of a session's availability beyond it nothing is used.
        opens_s: Sessions opened a second, burst so many and all that may be open.
        frames_s: Frames a second, burst twice that.
        messages_s: Messages in frames a second, burst twice that.
        bytes_s: Bytes of frames a second, burst four times that.
        resyncs_s: Seats whose events are asked for again a second, burst 16 times that.
        calls_s: Unary calls a second, burst twice that.
        work_ms_s: Processor time of rule questions in milliseconds a second, burst ten times that.
    """

    sessions: int = 64
    matches: int = 4096
    opens_s: int = 5
    frames_s: int = 10_000
    messages_s: int = 20_000
    bytes_s: int = 8 << 20
    resyncs_s: int = 32
    calls_s: int = 200
    work_ms_s: int = 100


class Bucket:
    """A store of *burst* units that fills at *rate* units a second."""

    __slots__ = ("_burst", "_filled_at", "_left", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._filled_at: float | None = None

    def lacks(self, now: float) -> float:
        """The seconds from *now* until anything is there, 0 if it is."""
        self._fill(now)
        return 0.0 if self._left > 0 else (1e-3 - self._left) / self._rate

    def spend(self, amount: float) -> None:
        """Take *amount*, which is known afterwards only, even if it was not there."""
        self._left -= amount

    def take(self, amount: float, now: float) -> float:
        """
        Take *amount* at *now* (seconds, monotonic); the seconds to wait before that much is there, 0 if it was.

        Nothing is taken where there is not enough. An amount above the burst is let through when the bucket is full.
        """
        self._fill(now)
        needed = min(amount, self._burst)
        if self._left < needed:
            return (needed - self._left) / self._rate
        self._left -= needed
        return 0.0

    def _fill(self, now: float) -> None:
        if self._filled_at is not None:
            self._left = min(self._burst, self._left + (now - self._filled_at) * self._rate)
        self._filled_at = now


class Usage:
    """What one token has used of its quotas."""

    def __init__(self, quotas: Quotas) -> None:
        self._opens = Bucket(quotas.opens_s, quotas.opens_s + quotas.sessions)
        self._frames = Bucket(quotas.frames_s, 2 * quotas.frames_s)
        self._messages = Bucket(quotas.messages_s, 2 * quotas.messages_s)
        self._bytes = Bucket(quotas.bytes_s, 4 * quotas.bytes_s)
        self._resyncs = Bucket(quotas.resyncs_s, 16 * quotas.resyncs_s)
        self._calls = Bucket(quotas.calls_s, 2 * quotas.calls_s)
        self._work_ms = Bucket(quotas.work_ms_s, 10 * quotas.work_ms_s)

    def open(self, now: float) -> None:
        """Count a session that is opened; SessionRefused as in :meth:`frame`."""
        _refuse("sessions", self._opens.take(1, now))

    def frame(self, size: int, messages: int, now: float) -> None:
        """
        Count a frame of *size* bytes with so many *messages*.

        Raises:
            SessionRefused: RATE_LIMITED, with the time after which to try again; the bot's mistake.
        """
        _refuse("frames", self._frames.take(1, now))
        _refuse("bytes", self._bytes.take(size, now))
        _refuse("messages", self._messages.take(messages, now))

    def resync(self, now: float) -> None:
        """Count a repetition of all events of a seat; SessionRefused as in :meth:`frame`."""
        _refuse("resyncs", self._resyncs.take(1, now))

    def call(self, now: float) -> None:
        """Count a unary call; SessionRefused as in :meth:`frame`."""
        _refuse("calls", self._calls.take(1, now))

    def work(self, now: float) -> None:
        """Refuse what costs processor time if too much of it was used; SessionRefused as in :meth:`frame`."""
        _refuse("milliseconds of work", self._work_ms.lacks(now))

    def worked(self, seconds: float) -> None:
        """*seconds* of processor time were used."""
        self._work_ms.spend(seconds * 1000)


def _refuse(what: str, wait_s: float) -> None:
    if wait_s > 0:
        text = f"too many {what} a second; try again in {wait_s:.2f} s"
        raise SessionRefused(8, "RATE_LIMITED", text, {"what": what}, retry_after_s=wait_s)
