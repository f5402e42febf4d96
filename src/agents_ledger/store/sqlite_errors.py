"""Errors of SQLite as ours, with its own words and what to do next."""

import apsw

from agents_ledger.errors import (
    BadInput,
    Conflict,
    LedgerError,
    NotALedger,
    ReadOnlyStore,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from agents_ledger.store.database import SEALED, sealed

BUSY_MS = 60_000
_REPORT = "see what `ldg verify` finds; if nothing, this is a bug: report it"
# The first kind that fits; `{path}` and `{problem}` are filled in.
_KINDS: list[tuple[type[Exception] | tuple[type[Exception], ...], type[LedgerError], str]] = [
    (
        apsw.FullError,
        StoreFull,
        (
            "no space left for {path}: nothing of this was written, everything acknowledged is kept; "
            "free some space and try again ({problem})"
        ),
    ),
    (apsw.BusyError, StoreBusy, f"another process kept {{path}} locked for {BUSY_MS // 1000} s: try again"),
    (
        apsw.ReadOnlyError,
        ReadOnlyStore,
        (
            "{path} can't be written ({problem}): check the permissions of the file and of its folder, "
            "or open it read-only (from a folder that can't be written, copy it first)"
        ),
    ),
    (
        apsw.NotADBError,
        NotALedger,
        "{path} is not an SQLite file: name another --db, or restore a backup with `ldg restore BACKUP`",
    ),
    (
        apsw.CorruptError,
        StoreCorrupt,
        (
            "{path} is damaged ({problem}): nothing more is written; restore a backup with `ldg restore BACKUP`. "
            "Without one, "
            "`sqlite3 {quoted} .recover | sqlite3 new.db` saves what is readable "
            "(with the shell of sqlite.org: those of some systems can't)"
        ),
    ),
    (
        apsw.CantOpenError,
        StoreUnreachable,
        "can't open {path} ({problem}): does it exist, and may you read it and write to its folder?",
    ),
    (apsw.IOError, StoreError, "the disk under {path} failed ({problem}); open the ledger again to go on"),
    (apsw.TooBigError, BadInput, "a value is larger than a database row can be (1 GB): split it"),
    (apsw.AuthError, ReadOnlyStore, "only reading is allowed here ({problem})"),
    (
        (UnicodeEncodeError, OverflowError),
        BadInput,
        "{problem}: pass text without lone surrogates, numbers of at most 64 bits",
    ),
    (
        UnicodeDecodeError,
        StoreCorrupt,
        (
            "a text in {path} is damaged ({problem}): restore a backup with `ldg restore BACKUP`; "
            "`ldg verify` names the row"
        ),
    ),
]


class translated:  # noqa: N801 - used like a function
    """A block whose errors come out as ours. `what` names somebody's own query, whose mistakes are theirs."""

    __slots__ = ("_path", "_what")

    def __init__(self, path: str, what: str = "") -> None:
        self._path = path
        self._what = what

    def __enter__(self) -> None:
        """Nothing is to be done."""

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, Exception):
            ours = as_ours(problem, self._path, self._what)
            if ours is not problem:
                raise ours from problem


def as_ours(problem: Exception, path: str, what: str = "") -> Exception:
    """Our error for one of SQLite's; any other stays as it is."""
    for kind, ours, message in _KINDS:
        if isinstance(problem, kind):
            return ours(message.format(path=path, problem=problem, quoted=_Quoted(path)))
    if isinstance(problem, apsw.InterruptError):
        return BadInput(f"{what or 'the query'} took too long and was stopped")
    if isinstance(problem, apsw.ConstraintError):
        return _refused(problem, path)
    if isinstance(problem, apsw.Error):
        return BadInput(f"{problem}") if what else StoreError(f"{path} refused a statement ({problem}): {_REPORT}")
    return problem


class _Quoted:
    """A path as a shell takes it, if a message names it so."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __str__(self) -> str:
        from shlex import quote  # noqa: PLC0415 - only for a damaged file

        return quote(self._path)


def _refused(problem: apsw.ConstraintError, path: str) -> LedgerError:
    text = " ".join(str(problem).split())
    if text.startswith("UNIQUE"):
        return Conflict(f"it is there already ({text}): give the new one another id or key")
    if text.startswith("CHECK"):
        return BadInput(f"a value is not one of those allowed ({text})")
    if text == SEALED:
        return sealed()
    return StoreError(f"{path} refused a change ({text}): {_REPORT}")
