"""Replacing a ledger's file by another one that is complete: never while it is in use, and the old file is kept."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

import apsw
from msgspec import Struct

from agents_ledger.errors import StoreBusy, StoreUnreachable
from agents_ledger.store.files import publish, settle
from agents_ledger.store.sidecars import SUFFIXES, beside, folder_lock, free_name, has_log, require_complete, set_aside

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE_S = 1.0  # for a command that is about to end
_NAP_S = 0.01
_FLAGS = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]


class Replaced(Struct, frozen=True):
    """What was where a file is now."""

    kept: str | None  # the replaced file's new name; None: there was none
    set_aside: tuple[str, ...] = ()  # leftovers of a deleted database


def replace_database(partial: "Path", final: "Path") -> Replaced:
    """Put a finished database in the place of another one, which is kept under a new name with its log.

    One rename does it, so that after a crash there is the old database or the new one. Only where links are unknown,
    the place is empty for a moment.
    """
    require_complete(partial)
    if has_log(str(final)) and final.exists() and final.stat().st_size:
        _fold(str(final))
    with folder_lock(final.parent) as is_locked:
        if not os.path.lexists(final):
            moved = set_aside(final, is_locked=is_locked)
            publish(partial, final)
            return Replaced(None, moved)
        with unused(str(final)):
            return Replaced(_exchange(partial, str(final), final.parent))


def require_unused(final: "Path") -> None:
    """Refuse a database that is open anywhere."""
    if final.exists():
        with unused(str(final)):
            pass


@contextmanager
def unused(path: str) -> Iterator[None]:
    """Keep everybody from using a database file, whatever its content; refuses one that is open.

    Every connection to a ledger holds SQLite's shared lock for as long as it is open. The lock is taken through
    SQLite's own file layer: to open and close the file by other means would drop the locks that this process has.
    """
    try:
        file = apsw.VFSFile("", path, _FLAGS)
    except apsw.Error as problem:
        raise StoreUnreachable(f"can't open {path} ({problem}): may you read and write it?") from None
    try:
        _lock(file, path)
        yield
    finally:
        with suppress(apsw.Error):
            file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


def _lock(file: apsw.VFSFile, path: str) -> None:
    until = monotonic() + _PATIENCE_S
    while True:
        try:
            file.xLock(apsw.SQLITE_LOCK_SHARED)
            file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
        except apsw.BusyError:
            file.xUnlock(apsw.SQLITE_LOCK_NONE)
            if monotonic() > until:
                raise StoreBusy(
                    f"{path} is in use: end what has it open (`ldg sync --watch`, an agent, a shell), then try again"
                ) from None
            sleep(_NAP_S)
        except apsw.Error as problem:
            raise StoreUnreachable(f"can't lock {path} ({problem}): may you write to it?") from None
        else:
            return


def _fold(path: str) -> None:
    """Move the log of a healthy database into its file; a damaged one stays as it is, with its log."""
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        return
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        if connection.execute("PRAGMA quick_check(1)").get == "ok":
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.Error:  # damaged, or in use: whoever replaces it finds out
        return
    finally:
        with suppress(apsw.Error):
            connection.close()


def _exchange(partial: "Path", path: str, folder: "Path") -> str:
    kept = free_name(f"{path}.replaced")
    found = beside(path) if has_log(path) else []
    try:
        for suffix in ("", *found):
            os.link(f"{path}{suffix}", f"{kept}{suffix}")
    except OSError:  # a file system without links, or one that protects a file of somebody else
        for suffix in (*found, ""):
            with suppress(FileNotFoundError):
                os.unlink(f"{kept}{suffix}")  # noqa: PTH108 - one call
            os.rename(f"{path}{suffix}", f"{kept}{suffix}")  # noqa: PTH104 - one call
    settle(folder)
    for suffix in SUFFIXES:
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")  # noqa: PTH108 - one call
    settle(folder)  # before the new database: a power cut must not bring the old log back beside it
    os.replace(partial, path)  # noqa: PTH105 - one call
    settle(folder)
    return kept
