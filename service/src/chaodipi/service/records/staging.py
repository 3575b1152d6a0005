"""Records wait in a private folder until every result of their board is saved.

A record reveals the seed of its board. Would it be read before the last result of the board is in the store, a kill
in between would leave a board that is played again and whose cards are known.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from chaodipi.service.files import sync_folder
from chaodipi.service.records.record import record_name, timing_name

__all__ = ["Staging"]


class Staging:
    """
    The folder *records* and the one beside it, ``records.staged``, that only its owner can open.

    Attributes:
        folder: Where records are written to; both are on one file system, so that a move is a rename.
    """

    def __init__(self, records: Path) -> None:
        self.records = records.resolve()
        self.folder = self.records.with_name(f"{self.records.name}.staged")

    def settle(self, saved: Iterable[str], unsaved: Iterable[str]) -> None:
        """
        Make both folders, and have records where they belong: of *saved* tables published, of *unsaved* ones staged.

        Whatever a kill left, or a store that was put back to an earlier state, is in order when this returns.

        Raises:
            OSError: it cannot be; each record is still in one of the folders.
        """
        self.records.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.folder.chmod(0o700)
        for each in (self.records, self.records.parent):
            sync_folder(each)
        _move(unsaved, self.records, self.folder)
        self.publish(saved)

    def publish(self, tables: Iterable[str]) -> None:
        """
        Give the staged records of *tables* their place, on disk when this returns; those that are there stay.

        Raises:
            OSError: it cannot be; each record is still in one of the folders.
        """
        _move(tables, self.folder, self.records)

    def read(self, table: str) -> bytes:
        """
        The record of *table*, whose board is saved, in whichever folder it is.

        Raises:
            OSError: it is in neither, or cannot be read.
        """
        name = record_name(table)
        for folder in (self.records, self.folder):
            try:
                return (folder / name).read_bytes()
            except FileNotFoundError:
                continue
        # It was published in between, or there is none.
        return (self.records / name).read_bytes()


def _move(tables: Iterable[str], source: Path, target: Path) -> None:
    there = set(os.listdir(source))
    moved = False
    for table in tables:
        for name in (timing_name(table), record_name(table)):
            if name in there:
                os.replace(source / name, target / name)
                moved = True
    if moved:
        sync_folder(target)
        sync_folder(source)
