"""How a bot reaches its host: in the clear or by TLS, with a certificate of its own where the host asks for one."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

__all__ = ["Tls", "TlsError", "open_channel", "tls_arguments", "tls_from_arguments", "with_tls_hint"]

_SECURE = ("https://", "grpcs://")
_CLEAR = ("http://", "grpc://")


class TlsError(Exception):
    """The files for TLS cannot be used; the message is one line that names the file or flag. The author's mistake."""


@dataclass(frozen=True, slots=True)
class Tls:
    """
    What TLS needs at the bot's end, each as PEM.

    Attributes:
        ca: Certificates of the authorities that may vouch for the host; None: those that come with gRPC.
        cert: The bot's own certificate, with its chain; None: it has none.
        key: Its private key.
    """

    ca: bytes | None = None
    cert: bytes | None = None
    key: bytes | None = None

    @classmethod
    def read(cls, ca: str = "", cert: str = "", key: str = "") -> "Tls | None":
        """
        From the files of these names, "" for none; None if all are "".

        Raises:
            TlsError: a file cannot be read or has no PEM, or one of *cert* and *key* is without the other.
        """
        if not (ca or cert or key):
            return None
        if bool(cert) != bool(key):
            missing, there = ("key", "cert") if cert else ("cert", "key")
            raise TlsError(f"--{there} needs --{missing} (CHAODIPI_{missing.upper()})")
        return cls(*(_pem(path, f"--{name}") for name, path in (("ca", ca), ("cert", cert), ("key", key))))


def tls_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for TLS to *parser*; the environment stands in for those that are not given."""
    for name, text in (
        ("ca", "PEM file: who vouches for the host; with it, TLS is used"),
        ("cert", "PEM file: the bot's own certificate, for hosts that ask for one"),
        ("key", "PEM file: the key of --cert"),
    ):
        variable = f"CHAODIPI_{name.upper()}"
        parser.add_argument(f"--{name}", default=os.environ.get(variable, ""), help=f"{text} ({variable})")


def tls_from_arguments(args: argparse.Namespace) -> Tls | None:
    """What the flags of :func:`tls_arguments` say; TlsError as in :meth:`Tls.read`."""
    return Tls.read(args.ca, args.cert, args.key)


def open_channel(server: str, tls: Tls | None, options: Sequence[tuple[str, Any]] = ()) -> grpc.aio.Channel:
    """
    A channel to *server*, ``host:port``, not connected yet.

    With *tls* it is secure, and so it is for ``https://host:port``, then by the authorities that come with gRPC.
    """
    for prefix in (*_SECURE, *_CLEAR):
        if server.startswith(prefix):
            server = server.removeprefix(prefix)
            tls = tls or (Tls() if prefix in _SECURE else None)
    if tls is None:
        return grpc.aio.insecure_channel(server, options=options)
    return grpc.aio.secure_channel(server, grpc.ssl_channel_credentials(tls.ca, tls.key, tls.cert), options=options)


def with_tls_hint(details: str, server: str, tls: Tls | None) -> str:
    """*details* of a connection that could not be made, and what of TLS may be wrong, if it looks like that."""
    if "CERTIFICATE_VERIFY_FAILED" in details:
        hint = "nobody known here vouches for the host's certificate: --ca FILE or CHAODIPI_CA"
    elif "WRONG_VERSION_NUMBER" in details:
        hint = "the host does not serve by TLS: leave out --ca or https://"
    elif "Socket closed" not in details:
        return details
    elif tls is None and not server.startswith(_SECURE):
        hint = "if the host serves by TLS: --ca FILE or CHAODIPI_CA"
    elif tls is None or tls.cert is None:
        hint = "if the host asks bots for certificates: --cert and --key, or CHAODIPI_CERT and CHAODIPI_KEY"
    else:
        hint = "if the host asks bots for certificates: one of its authority"
    return f"{details} ({hint})"


def _pem(path: str, flag: str) -> bytes | None:
    if not path:
        return None
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"{flag} {path}: {error.strerror}") from error
    if b"-----BEGIN " not in data:
        raise TlsError(f"{flag} {path}: not PEM")
    return data
