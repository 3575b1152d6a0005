"""What can go wrong in the host.

::

    HostError             ours, or the operator's: cannot start, is stopping
    └── SessionRefused    a bot's session or request is refused; carries the protocol's reason and code
"""

__all__ = ["HostError", "SessionRefused"]


class HostError(Exception):
    """The host cannot do what it was asked for; the message says what to change."""


class SessionRefused(HostError):
    """
    A session ends, or is not opened, with a status.

    Attributes:
        code: Canonical gRPC status code as a number, 16 = UNAUTHENTICATED.
        reason: Stable reason, such as TOKEN_INVALID.
        metadata: Every dynamic value of the message.
        retry_after_s: Seconds after which to try again; 0: not said.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        metadata: dict[str, str] | None = None,
        *,
        retry_after_s: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.metadata = metadata or {}
        self.retry_after_s = retry_after_s
