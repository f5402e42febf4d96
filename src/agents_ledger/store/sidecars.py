"""The files that SQLite keeps beside a database (`-wal`, `-shm`, `-journal`), and what a deleted one leaves behind.

SQLite trusts such a file by its name alone. A `-wal` that outlived its database is replayed into the next database of
that name: the deleted rows come back, or the new file is damaged. So a new database is published only where none of
these files exists; those that do are renamed first.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EAGAIN, EBADF, EINVAL, ENOLCK, ENOTSUP, EOPNOTSUPP
from time import gmtime, monotonic, sleep, strftime
from typing import TYPE_CHECKING

from agents_ledger.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull
from agents_ledger.store.files import publish, settle

if os.name == "posix":
    import fcntl

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = ("-wal", "-shm", "-journal")
_LOGS = ("-wal", "-journal")  # those that hold data
_PATIENCE_S = 30.0
_NAP_S = 0.002
_UNSUPPORTED = (EBADF, EINVAL, ENOLCK, ENOTSUP, EOPNOTSUPP)  # of a file system that can't lock a folder


def beside(path: str) -> list[str]:
    """The files that exist beside a database, by their suffixes."""
    return [suffix for suffix in SUFFIXES if os.path.lexists(f"{path}{suffix}")]


def has_log(path: str) -> bool:
    """Whether a log with data lies beside a database."""
    return any(_size(f"{path}{suffix}") for suffix in _LOGS)


def refuse_emptied(path: str) -> None:
    """Refuse an empty file beside a log with data.

    SQLite writes to the file before it makes the log, so the file was emptied later; SQLite would delete the log.
    """
    if (
        _size(path) == 0 and _size(f"{path}-wal") and _size(path) == 0
    ):  # (in this order: another process may be at work)
        raise StoreCorrupt(
            f"{path} is empty, but {path}-wal is not: the ledger was emptied or replaced. "
            "Restore a backup with `ldg restore BACKUP`, or move both files away"
        )


def publish_database(partial: "Path", final: "Path") -> tuple[str, ...] | None:
    """Put a finished database in its place; None if one is there already.

    What a deleted database of that name left behind is renamed; gives the new names. All of it happens under a lock on
    the folder: otherwise the log of a process that is faster by a moment would be taken for such a leftover.
    """
    require_complete(partial)
    with folder_lock(final.parent) as is_locked:
        if os.path.lexists(final):
            return None
        moved = set_aside(final, is_locked=is_locked)
        return moved if publish(partial, final) else None


def require_complete(partial: "Path") -> None:
    """Refuse to publish a file whose last changes are still in its log: SQLite could not move them (a full disk)."""
    if has_log(str(partial)):
        raise StoreFull(f"{partial} could not be completed: free some space and try again")


def set_aside(final: "Path", *, is_locked: bool) -> tuple[str, ...]:
    """Rename what a deleted database left behind, durably; gives the new names."""
    found = beside(str(final))
    if not found:
        return ()
    if not is_locked:
        raise StoreError(
            f"{final}{found[0]} is left over from a deleted database, and SQLite would apply it to the new one: "
            "move it to another name, then try again"
        )
    base = free_name(f"{final}.stale")
    for suffix in found:
        os.rename(f"{final}{suffix}", f"{base}{suffix}")  # noqa: PTH104 - one call
    settle(final.parent)  # before the new database: a power cut must not bring the old names back beside it
    return tuple(f"{base}{suffix}" for suffix in found)


def free_name(base: str) -> str:
    """A name with the time in it that no file has, neither alone nor with a suffix of SQLite's."""
    stamped = f"{base}-{strftime('%Y%m%dT%H%M%SZ', gmtime())}"
    name, number = stamped, 1
    while os.path.lexists(name) or beside(name):
        number += 1
        name = f"{stamped}-{number}"
    return name


def discard(path: str) -> None:
    """Remove an unfinished file of our own, with what SQLite put beside it."""
    for suffix in ("", *SUFFIXES):
        try:
            os.unlink(f"{path}{suffix}")  # noqa: PTH108 - one call
        except OSError:  # it does not exist, or its folder is none
            continue


@contextmanager
def folder_lock(folder: "Path") -> Iterator[bool]:
    """Keep other processes of this program from publishing in a folder; False where a folder can't be locked."""
    if os.name != "posix":
        yield False
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        yield _locked(number, folder)
    finally:
        os.close(number)  # and the lock with it, also when the process dies


def _locked(number: int, folder: "Path") -> bool:
    until = monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno in _UNSUPPORTED:
                return False
            if problem.errno not in (EACCES, EAGAIN):
                raise
            if monotonic() > until:
                raise StoreBusy(f"another process keeps {folder} locked: try again") from None
            sleep(_NAP_S)
        else:
            return True


def _size(path: str) -> int | None:
    """The size of a file, None if it does not exist."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - one call
    except OSError:
        return None
