"""TLS of the host: its certificate and key, and who vouches for the certificates of bots."""

import ssl
from dataclasses import astuple, dataclass
from pathlib import Path

import grpc
import structlog
from chaodipi.service.host.errors import HostError

__all__ = ["TlsFiles", "server_credentials"]

log = structlog.get_logger("chaodipi.rpc")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """
    Where the host's TLS files are, each PEM.

    Attributes:
        cert: Its certificate, with its chain.
        key: The private key of it.
        client_ca: Certificates of the authorities that vouch for bots; with it, only bots with a certificate of theirs
            are let in to show their token.
    """

    cert: Path
    key: Path
    client_ca: Path | None = None


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """
    What gRPC needs of *files*, which are read again for the first new connection after one of them has changed.

    Connections that are open go on. Files that cannot be used then are warned of, and what was read before holds.

    Raises:
        HostError: a file cannot be read, or they do not go together, which gRPC would say to nobody; the operator's
            mistake.
    """
    certificates = _Certificates(files)
    return grpc.dynamic_ssl_server_credentials(
        certificates.read(),
        certificates.read_if_changed,  # type: ignore[arg-type]  # gRPC takes None, its types do not say so
        require_client_authentication=files.client_ca is not None,
    )


class _Certificates:
    """The files of a host that runs, and when they were last changed."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        # Before the files are read: what is changed meanwhile is read once more.
        self._seen = self._stamps()

    def read(self) -> grpc.ServerCertificateConfiguration:
        """HostError if they cannot be used."""
        key, cert, client_ca = _checked(self._files)
        return grpc.ssl_server_certificate_configuration([(key, cert)], client_ca)

    def read_if_changed(self) -> grpc.ServerCertificateConfiguration | None:
        """None: go on with those of before. gRPC asks for every new connection, in a thread of its own."""
        stamps = self._stamps()
        if stamps == self._seen:
            return None
        self._seen = stamps
        try:
            found = self.read()
        except HostError as error:
            log.warning("certificates_kept", why=str(error))
            return None
        log.info("certificates_read", cert=str(self._files.cert))
        return found

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(path) for path in astuple(self._files) if path is not None]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _checked(files: TlsFiles) -> tuple[bytes, bytes, bytes | None]:
    """Key, certificate and authorities of bots, which go together; HostError if they do not."""
    cert, key = _read(files.cert, "tls_cert"), _read(files.key, "tls_key")
    client_ca = None if files.client_ca is None else _read(files.client_ca, "tls_client_ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(files.cert, files.key, password=lambda: "")
    except (OSError, ValueError) as error:  # an SSLError is an OSError, as is a file that is gone by now
        reason = "the key is not of this certificate" if "MISMATCH" in str(error) else "no PEM, or the key is encrypted"
        raise HostError(f"tls_cert {files.cert} and tls_key {files.key}: {reason}") from error
    if files.client_ca is not None:
        try:
            context.load_verify_locations(files.client_ca)
        except OSError as error:
            raise HostError(f"tls_client_ca {files.client_ca}: no PEM certificate in it") from error
    return key, cert, client_ca


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HostError(f"{name} {path}: {error.strerror}") from error
