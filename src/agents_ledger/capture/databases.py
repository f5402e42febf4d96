"""Consistent views of other programs' databases: read in place if that is safe, otherwise from a private copy.

Nothing is ever written to the database, and no file appears beside it. In place is safe

- with a write-ahead log and its index (`-wal`, `-shm`): SQLite's own snapshot, with the index opened read-only;
- without any log or journal: as an immutable file, of which `confirm` says whether it has changed meanwhile.

Everything else is copied into a scratch folder beside the ledger, with mode 0600, and unlinked as soon as it is open.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import quote

import apsw

from agents_ledger.capture.budget import TICK_STEPS, Budget, TooCostly
from agents_ledger.capture.scratch import new_private_file, scratch_folder
from agents_ledger.capture.table_rows import Groups
from agents_ledger.model.times import now_ms

__all__ = ["Groups", "NotInPlace", "Source", "copied", "in_place"]

_PAGES = 2000  # copied at a time: the owner can write in between
_TRIES = 5
_BUSY_MS = 2000
_RECENT_MS = 2000  # a file that was written just now may be written again within the same tick of its clock
_CHUNK = 1 << 20
_SHARE = 2  # a copy takes at most this part of the free space
_COMPRESSED = 16  # how much smaller a file may be on its disk than it says; sparse files are smaller still
_HEADER_BYTES = 100
_SQL_BYTES = 1 << 20  # the longest statement of a schema
_FUNCTIONS = frozenset({"count", "max", "typeof", "coalesce"})  # those of our own queries

Stamp = tuple[tuple[int, ...] | None, ...]


class NotInPlace(Exception):
    """A database that can't be read where it is: somebody writes, or its log has no index."""


class Source:
    """A database of another program, open for reading, within a budget."""

    def __init__(self, connection: apsw.Connection, budget: Budget, path: str = "", stamp: Stamp | None = None) -> None:
        self.connection = connection
        self.budget = budget
        self._path = path
        self._stamp = stamp

    def confirm(self) -> None:
        """Raises NotInPlace if what was read may be half of one state and half of the next."""
        if self._stamp is not None and _stamp(self._path) != self._stamp:
            raise NotInPlace(f"{self._path} was changed while it was read")


@contextmanager
def in_place(path: str) -> Iterator[Source]:
    """The database itself; NotInPlace if that is not safe."""
    stamp = _stamp(path)
    has_log, has_index, has_journal = (bool(each) for each in (_log(path), stamp[2], stamp[3]))
    if (has_log and not has_index) or has_journal or not _is_at_rest(path):
        raise NotInPlace(path)
    if not has_log and not _uses_wal(path):
        _require_unlocked(path)
    budget = Budget(_used_bytes(path))
    options = "mode=ro&readonly_shm=1" if has_log else "mode=ro&immutable=1"
    try:
        with _opened(path, options, budget) as connection:
            yield Source(connection, budget, path, None if has_log else stamp)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        if has_log:  # an index that can't be used without writing to it
            raise NotInPlace(path) from None
        raise
    except (apsw.Error, TooCostly):
        if not has_log and _stamp(path) != stamp:
            raise NotInPlace(path) from None
        raise


@contextmanager
def copied(path: str, place: str | None = None) -> Iterator[Source]:
    """A consistent copy of a database, in a private folder at a place; it has no name any more when it is read."""
    with scratch_folder(gettempdir() if place is None else place) as folder:
        target = folder / "copy.db"
        os.close(new_private_file(target))
        budget = Budget(_used_bytes(path))
        if _uses_wal(path) and not (_log(path) and Path(f"{path}-shm").exists()):
            # nobody has it open, and SQLite would make files beside it: the files as they are
            has_log = _copy_files(path, target)
        else:
            _back_up(path, target)
            has_log = False
        with _opened(str(target), "mode=ro" if has_log else "mode=ro&immutable=1", budget) as connection:
            for end in ("", "-wal", "-shm"):
                with suppress(OSError):  # (a system that doesn't unlink open files: at the end, with the folder)
                    target.with_name(target.name + end).unlink(missing_ok=True)
            yield Source(connection, budget)


@contextmanager
def _opened(path: str, options: str, budget: Budget) -> Iterator[apsw.Connection]:
    """A connection that can read plain tables and do nothing else, in one snapshot."""
    connection = _connected(path, options)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        for setting in (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
                        apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, apsw.SQLITE_DBCONFIG_DQS_DML):  # fmt: skip
            connection.config(setting, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, budget.longest_value)
        connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, _SQL_BYTES)
        connection.set_progress_handler(budget.tick, TICK_STEPS)
        connection.execute("PRAGMA cell_size_check=ON")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # from here on it is one snapshot
        connection.authorizer = _authorize
        yield connection
    except apsw.InterruptError:
        raise budget.stopped() from None
    except apsw.TooBigError:
        raise TooCostly(f"a value of more than {budget.longest_value >> 20} MiB") from None
    except MemoryError:
        raise TooCostly("it takes more memory to read than there is") from None
    finally:
        connection.close()


def _connected(path: str, options: str) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(os.fsencode(path))}?{options}", flags=flags)


def _require_unlocked(path: str) -> None:
    """Raises NotInPlace if somebody is writing: for a moment, SQLite's own lock is asked for."""
    probe = _connected(path, "mode=ro")
    try:
        probe.pragma("schema_version")
    except (apsw.BusyError, apsw.ReadOnlyError):
        raise NotInPlace(path) from None
    finally:
        probe.close()


def _authorize(operation: int, one: str | None, two: str | None, _database: str | None, via: str | None) -> int:
    if operation == apsw.SQLITE_READ:
        is_allowed = via is None
    elif operation == apsw.SQLITE_FUNCTION:
        is_allowed = two in _FUNCTIONS
    else:
        is_allowed = operation == apsw.SQLITE_SELECT or (operation == apsw.SQLITE_PRAGMA and one == "table_xinfo")
    return apsw.SQLITE_OK if is_allowed else apsw.SQLITE_DENY


# copies


def _back_up(path: str, target: Path) -> None:
    """Copy by SQLite's backup API, which waits for writers."""
    _require_space(_used_bytes(path), target)
    reader = _connected(path, "mode=ro")
    copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    budget = Budget(_used_bytes(path))
    try:
        reader.set_busy_timeout(_BUSY_MS)
        with copy.backup("main", reader, "main") as steps:
            left = None
            while not steps.done:
                steps.step(_PAGES)
                if left is None or steps.remaining < left:  # (a change of the source makes it begin again)
                    budget.spend(0)
                    left = steps.remaining
                if budget.tick():
                    raise TooCostly("it keeps changing while it is copied")
    finally:
        copy.close()
        reader.close()


def _copy_files(path: str, target: Path) -> bool:
    """The database and its log, if it has one; whether it has."""
    log = target.with_name(target.name + "-wal")
    os.close(new_private_file(log))
    for _ in range(_TRIES):
        before = _stamp(path)
        has_log = bool(_log(path))
        _copy_file(path, target)
        if has_log:
            _copy_file(f"{path}-wal", log)
        if _stamp(path) == before:
            return has_log
    raise OSError(f"{path} keeps changing while it is copied")


def _copy_file(path: str, target: Path) -> None:
    """The bytes of a file; holes stay holes."""
    with open(path, "rb") as source, target.open("r+b") as copy:  # noqa: PTH123 - the path may hold anything
        copy.truncate(0)
        size = os.fstat(source.fileno()).st_size
        pieces = list(_data_in(source.fileno(), size))
        _require_space(sum(end - start for start, end in pieces), target)
        for start, end in pieces:
            source.seek(start)
            copy.seek(start)
            while start < end and (data := source.read(min(_CHUNK, end - start))):
                copy.write(data)
                start += len(data)  # noqa: PLW2901 - how far it is
        copy.truncate(size)


def _data_in(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file has data, as opposed to holes."""
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    at = 0
    while at < size:
        try:
            start = os.lseek(file, at, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
        except OSError:  # a hole up to the end
            break
        yield start, min(end, size)
        at = end
    os.lseek(file, 0, os.SEEK_SET)


def _require_space(needed: int, target: Path) -> None:
    free = shutil.disk_usage(target.parent).free
    if needed * _SHARE > free:
        raise OSError(f"a copy takes {needed >> 20} MiB, and {free >> 20} MiB are free in {target.parent.parent}")


# what the file system and the header say


def _stamp(path: str) -> Stamp:
    """What changes when somebody writes to a database: the file, and that there is a log, its index, a journal."""
    facts = os.stat(path)  # noqa: PTH116 - one call, as below
    beside = (_facts(f"{path}-wal"), _facts(f"{path}-shm"), _facts(f"{path}-journal"))
    return ((facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns), *beside)


def _facts(path: str) -> tuple[int, ...] | None:
    """Size and time of a file that is not empty."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - one call
    except OSError:
        return None
    is_index = path.endswith("-shm")  # (it changes with every reader)
    return (0,) if is_index else (facts.st_size, facts.st_mtime_ns) if facts.st_size else None


def _log(path: str) -> int:
    """The size of the write-ahead log."""
    facts = _facts(f"{path}-wal")
    return 0 if facts is None else facts[0]


def _is_at_rest(path: str) -> bool:
    """Whether a database was not written just now; with a log SQLite itself takes care of that."""
    return bool(_log(path)) or os.stat(path).st_mtime_ns // 1_000_000 < now_ms() - _RECENT_MS  # noqa: PTH116 - one call


def _uses_wal(path: str) -> bool:
    return _header(path)[18:20] == b"\x02\x02"


def _header(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - the path may hold anything
        return file.read(_HEADER_BYTES)


def _used_bytes(path: str) -> int:
    """How large a database is at most, by its header, its file, and what that takes on the disk.

    A file that is shorter than its header says was cut.
    """
    facts, header, log = os.stat(path), _header(path), _log(path)  # noqa: PTH116 - one call
    page = int.from_bytes(header[16:18]) or 1
    page = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32])
    is_counted = pages > 0 and header[24:28] == header[92:96]
    if is_counted and not log and pages * page > facts.st_size:
        raise OSError(f"it was cut: {pages} pages of {page} bytes by its header, {facts.st_size} bytes in its file")
    held = facts.st_blocks * 512 * _COMPRESSED + _CHUNK if hasattr(facts, "st_blocks") else facts.st_size
    size = min(pages * page, facts.st_size) if is_counted and not log else facts.st_size
    return min(size, held) + log
