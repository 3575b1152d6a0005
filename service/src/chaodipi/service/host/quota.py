"""How much one token may send: buckets that fill with time. Told the time, so pure."""

from dataclasses import dataclass

from chaodipi.service.host.errors import SessionRefused

__all__ = ["Bucket", "Quotas", "Usage"]


@dataclass(frozen=True, slots=True)
class Quotas:
    """
    Limits for each token, over all its sessions. A burst is what a second's worth may be exceeded by at once.

    Attributes:
        sessions: Open sessions.
        matches: Seats held at the same time; of a session's availability beyond it nothing is used.
        frames_s: Frames a second, burst twice that.
        bytes_s: Bytes of frames a second, burst four times that.
        calls_s: Unary calls a second, burst twice that.
    """

    sessions: int = 64
    matches: int = 4096
    frames_s: int = 10_000
    bytes_s: int = 8 << 20
    calls_s: int = 200


class Bucket:
    """A store of *burst* units that fills at *rate* units a second."""

    __slots__ = ("_burst", "_filled_at", "_left", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._filled_at: float | None = None

    def take(self, amount: float, now: float) -> float:
        """
        Take *amount* at *now* (seconds, monotonic); the seconds to wait before that much is there, 0 if it was.

        Nothing is taken where there is not enough. An amount above the burst is let through when the bucket is full.
        """
        if self._filled_at is not None:
            self._left = min(self._burst, self._left + (now - self._filled_at) * self._rate)
        self._filled_at = now
        needed = min(amount, self._burst)
        if self._left < needed:
            return (needed - self._left) / self._rate
        self._left -= needed
        return 0.0


class Usage:
    """What one token has used of its quotas."""

    def __init__(self, quotas: Quotas) -> None:
        self._frames = Bucket(quotas.frames_s, 2 * quotas.frames_s)
        self._bytes = Bucket(quotas.bytes_s, 4 * quotas.bytes_s)
        self._calls = Bucket(quotas.calls_s, 2 * quotas.calls_s)

    def frame(self, size: int, now: float) -> None:
        """
        Count a frame of *size* bytes.

        Raises:
            SessionRefused: RATE_LIMITED, with the time after which to try again; the bot's mistake.
        """
        _refuse("frames", self._frames.take(1, now))
        _refuse("bytes", self._bytes.take(size, now))

    def call(self, now: float) -> None:
        """Count a unary call; SessionRefused as in :meth:`frame`."""
        _refuse("calls", self._calls.take(1, now))


def _refuse(what: str, wait_s: float) -> None:
    if wait_s > 0:
        text = f"too many {what} a second; try again in {wait_s:.2f} s"
        raise SessionRefused(8, "RATE_LIMITED", text, {"what": what}, retry_after_s=wait_s)
