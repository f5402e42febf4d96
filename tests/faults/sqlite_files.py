"""An apsw VFS under which every operation of SQLite goes through a `Watch`."""

import os
from collections.abc import Callable
from errno import ENOSPC
from typing import TypeVar

import apsw

from tests.faults.operations import Kind, Operation, Watch
from tests.faults.steady import Steady

T = TypeVar("T")
NAME = "watched"
_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
_ERRORS = {
    Kind.OPEN: apsw.SQLITE_CANTOPEN,
    Kind.CREATE: apsw.SQLITE_CANTOPEN,
    Kind.READ: apsw.SQLITE_IOERR_READ,
    Kind.WRITE: apsw.SQLITE_IOERR_WRITE,
    Kind.TRUNCATE: apsw.SQLITE_IOERR_TRUNCATE,
    Kind.SYNC: apsw.SQLITE_IOERR_FSYNC,
    Kind.UNLINK: apsw.SQLITE_IOERR_DELETE,
}


class WatchedVfs(apsw.VFS):
    """The default VFS, watched. Files without a name (SQLite's temporary ones) and others' are passed through."""

    def __init__(self, watch: Watch, seed: int) -> None:
        self._watch, self._steady = watch, Steady(seed)
        self._base = apsw.vfs_names()[0]
        super().__init__(NAME, self._base)
        apsw.set_default_vfs(NAME)
        apsw.randomness(0)  # takes its seed anew, from here

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """Opens a file; it is a new one if SQLite may make it and it is not there."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or not self._watch.covers(path):
            unwatched: apsw.VFSFile = super().xOpen(name, flags)
            return unwatched
        is_new = bool(flags[0] & apsw.SQLITE_OPEN_CREATE) and not os.path.exists(path)
        operation = Operation(Kind.CREATE if is_new else Kind.OPEN, path, self._watch.number(path, is_new=is_new))
        # SQLite's own VFS syncs the folder at the first sync of a journal or log that it may have made.
        syncs_folder = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _JOURNALS)
        base = self._base

        def opened() -> apsw.VFSFile:
            return WatchedFile(base, name, flags, self._watch, operation, syncs_folder=syncs_folder)

        return _run(self._watch, operation, opened)

    def xRandomness(self, numbytes: int) -> bytes:
        """The same bytes each time, so that a run can be repeated."""
        return self._steady.random(numbytes)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Removes a file, and syncs its folder if that is asked for."""
        if not self._watch.covers(filename) or not os.path.exists(filename):
            super().xDelete(filename, syncdir)
            return
        delete = super().xDelete
        operation = Operation(Kind.UNLINK, filename, self._watch.number(filename))
        _run(self._watch, operation, lambda: delete(filename, syncdir))
        if syncdir:
            _run(self._watch, Operation(Kind.SYNC_FOLDER, os.path.dirname(filename)), lambda: None)


class WatchedFile(apsw.VFSFile):
    """A file of SQLite's."""

    def __init__(
        self,
        base: str,
        name: str | apsw.URIFilename | None,
        flags: list[int],
        watch: Watch,
        opening: Operation,
        *,
        syncs_folder: bool,
    ) -> None:
        super().__init__(base, name, flags)
        self._watch, self._path, self._number = watch, opening.path, opening.file
        self._syncs_folder = syncs_folder

    def xRead(self, amount: int, offset: int) -> bytes:
        """Reads."""
        read: Callable[[int, int], bytes] = super().xRead
        return _run(self._watch, Operation(Kind.READ, self._path, self._number), lambda: read(amount, offset))

    def xWrite(self, data: bytes, offset: int) -> None:
        """Writes."""
        write = super().xWrite
        kept = bytes(data)
        operation = Operation(Kind.WRITE, self._path, self._number, offset, kept)
        _run(
            self._watch,
            operation,
            lambda: write(kept, offset),
            lambda: write(kept[: len(kept) // 2], offset),
        )

    def xTruncate(self, newsize: int) -> None:
        """Cuts."""
        truncate = super().xTruncate
        operation = Operation(Kind.TRUNCATE, self._path, self._number, newsize)
        _run(self._watch, operation, lambda: truncate(newsize))

    def xSync(self, flags: int) -> None:
        """Brings what was written onto the disk."""
        sync = super().xSync
        _run(self._watch, Operation(Kind.SYNC, self._path, self._number), lambda: sync(flags))
        if self._syncs_folder:
            self._syncs_folder = False
            _run(self._watch, Operation(Kind.SYNC_FOLDER, os.path.dirname(self._path)), lambda: None)


def _run(watch: Watch, operation: Operation, act: Callable[[], T], half: Callable[[], object] | None = None) -> T:
    """An operation whose failure is told as SQLite's own VFS tells it."""
    try:
        return watch.run(operation, act, half)
    except OSError as problem:
        is_full = problem.errno == ENOSPC and operation.kind == Kind.WRITE
        code = apsw.SQLITE_FULL if is_full else _ERRORS.get(operation.kind, apsw.SQLITE_IOERR)
        raise _as_sqlite(code) from None


def _as_sqlite(code: int) -> Exception:
    """SQLite's exception of a code, with its text."""
    told = apsw.exception_for(code)
    told.args = (apsw.mapping_result_codes.get(code & 0xFF, "error"),)
    return told
