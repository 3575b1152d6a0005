"""The SQLite file of a store: whole when it appears, looked at when it is opened, locked by whoever writes results.

WAL, FULL sync. Every error of it is a :class:`StoreError` of one line that names the file and says what to do.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from chaodipi.service.files import sync_folder
from chaodipi.service.store.errors import EarlierSchemaError, StoreError

__all__ = ["Database", "migrations"]

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Database:
    """
    The file at *path*.

    Args:
        writing: Lock it for this process, make it if it is missing, and bring its schema up to date. Otherwise it must
            exist; transactions may write to it all the same.

    Raises:
        StoreError: missing, damaged, not writable, in use by another process, or of a later version.
    """

    def __init__(self, path: Path, *, writing: bool) -> None:
        self.path = path
        self._lock = _lock(path) if writing else None
        self._reads = _engine(path)
        self._writes = self._reads.execution_options(writes=True)
        try:
            if writing and not path.exists():
                self._make()
            self.check(thorough=writing)
            if writing:
                self.upgrade()
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file and its lock."""
        self._reads.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that reads; StoreError for every error of the file."""
        with self._transaction(self._reads) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that has the write lock from its beginning, whole or not at all; errors as :meth:`reading`."""
        with self._transaction(self._writes) as connection:
            yield connection

    @contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except sa.exc.DatabaseError as error:
            if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise self._damaged(str(error.orig)) from error
            raise StoreError(f"store {self.path}: {error.orig}") from error

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"store {self.path} is damaged: {' '.join(what.split())}: restore a backup")

    def _make(self) -> None:
        """Make it beside its place: an empty file there could be one that was cut off."""
        part = self.path.with_name(self.path.name + ".new")
        try:
            for name in (part.name, f"{part.name}-wal", f"{part.name}-shm"):
                part.with_name(name).unlink(missing_ok=True)
            engine = _engine(part)
            sa.event.listen(engine, "connect", _use_wal)
            with self._transaction(engine) as connection:
                _upgrade(connection)
            os.replace(part, self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise StoreError(f"store {self.path} is not writable: {error.strerror}") from error

    # ---- soundness

    def check(self, *, thorough: bool) -> None:
        """
        Look at the whole file; *thorough*: also whether every index has what its table has.

        Raises:
            StoreError: it is missing, or damaged: by the disk, or by who copied it while it was written to.
        """
        if not self.path.exists():
            raise StoreError(f"no store at {self.path}")
        with self.reading() as connection:
            found = _fault(lambda pragma: connection.exec_driver_sql(pragma).scalar(), thorough=thorough)
            if found:
                raise self._damaged(found)
            if not MigrationContext.configure(connection).get_current_heads():
                what = "has nothing of chaodipi in it: restore a backup, or remove it to begin a new one"
                raise StoreError(f"store {self.path} {what}")

    def backup(self, to: Path) -> None:
        """
        Copy the store as it is now to *to*, also while another process writes; it appears there whole or not at all.

        Raises:
            StoreError: *to* exists or cannot be written, or the store is damaged.
        """
        if to.exists():
            raise StoreError(f"backup: {to} exists already")
        part = to.with_name(to.name + ".part")
        try:
            part.unlink(missing_ok=True)
            with (
                contextlib.closing(sqlite3.connect(self.path)) as source,
                contextlib.closing(sqlite3.connect(part)) as copy,
            ):
                source.backup(copy)
                found = _fault(lambda pragma: copy.execute(pragma).fetchone()[0], thorough=True)
            if found:
                part.unlink()
                raise self._damaged(found)
            os.replace(part, to)
            sync_folder(to.parent)
        except (sqlite3.Error, OSError) as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise StoreError(f"backup to {to}: {getattr(error, 'strerror', None) or error}") from error

    # ---- schema

    def upgrade(self) -> None:
        """
        Bring the schema up to date, all of it or nothing; nothing happens if it is.

        Raises:
            StoreError: it is of a later version, which may mean by its columns what this one does not know.
        """
        with self.writing() as connection:
            self._check_known(connection)
            _upgrade(connection)

    def is_current(self) -> bool:
        """Whether the schema is the one of this version."""
        with self.reading() as connection:
            heads = MigrationContext.configure(connection).get_current_heads()
        return set(heads) == set(ScriptDirectory.from_config(migrations()).get_heads())

    def check_schema(self) -> None:
        """
        Look whether its schema is the one of this version.

        Raises:
            EarlierSchemaError, StoreError: it is of an earlier or a later one; the message says what to do.
        """
        with self.reading() as connection:
            self._check_known(connection)
        if not self.is_current():
            raise EarlierSchemaError(
                f"store {self.path} is of an earlier version: chaodipi db upgrade brings it up to date"
            )

    def _check_known(self, connection: sa.Connection) -> None:
        known = {script.revision for script in ScriptDirectory.from_config(migrations()).walk_revisions()}
        unknown = set(MigrationContext.configure(connection).get_current_heads()) - known
        if unknown:
            raise StoreError(
                f"store {self.path} is of a later version of chaodipi (schema {', '.join(sorted(unknown))}): "
                "install that version, or restore a backup from before it"
            )


def migrations() -> Config:
    """Alembic's settings: where the migrations are."""
    config = Config()
    config.set_main_option("script_location", str(files("chaodipi.service.store") / "migrations"))
    return config


def _upgrade(connection: sa.Connection) -> None:
    config = migrations()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _fault(ask: Any, *, thorough: bool) -> str:
    """What SQLite finds wrong first; "" if nothing."""
    said = str(ask("PRAGMA integrity_check(1)" if thorough else "PRAGMA quick_check(1)"))
    return "" if said == "ok" else said


def _lock(path: Path) -> Any:
    """Hold the lock file of *path* for this process; its content is our process id."""
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a+")
    except OSError as error:
        raise StoreError(f"store {path} is not writable: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        owner = file.read().strip()
        file.close()
        raise StoreError(f"store {path} is in use by another process (pid {owner or 'unknown'})") from None
    # Only a help for whoever is refused: on a full disk it stays empty.
    with contextlib.suppress(OSError):
        file.truncate(0)
        os.write(file.fileno(), str(os.getpid()).encode())
    return file


def _engine(path: Path) -> sa.Engine:
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    sa.event.listen(engine, "connect", _on_connect)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _on_connect(connection: Any, _record: Any) -> None:
    # pysqlite would begin its own, deferred transactions; ours begin in the event below.
    connection.isolation_level = None
    for pragma in ("busy_timeout=10000", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _use_wal(connection: Any, _record: Any) -> None:
    # The file keeps it. Who only reads does not ask for it, because that could write.
    connection.execute("PRAGMA journal_mode=WAL")


def _begin(connection: sa.Connection) -> None:
    # A transaction that reads first and writes later would fail at its write if another process wrote in between.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
