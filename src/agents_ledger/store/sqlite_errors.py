"""Errors of SQLite as ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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

BUSY_MS = 60_000
_REPORT = "see what `ldg verify` finds; if nothing, this is a bug: report it"


@contextmanager
def translated(path: Path, what: str = "") -> Iterator[None]:  # noqa: C901, PLR0912 - one case for each error
    """Errors of SQLite as ours, with its own words and what to do next."""
    try:
        yield
    except LedgerError:
        raise
    except apsw.FullError as problem:
        raise StoreFull(
            f"no space left for {path}: nothing of this was written, everything acknowledged is kept; "
            f"free some space and try again ({problem})"
        ) from problem
    except apsw.BusyError as problem:
        raise StoreBusy(f"another process kept {path} locked for {BUSY_MS // 1000} s: try again") from problem
    except apsw.ReadOnlyError as problem:
        raise ReadOnlyStore(
            f"{path} can't be written ({problem}): check the permissions of the file and of its folder, "
            "or open it read-only"
        ) from problem
    except apsw.NotADBError as problem:
        raise NotALedger(f"{path} is not an SQLite file: name another --db, or restore a backup") from problem
    except apsw.CorruptError as problem:
        raise StoreCorrupt(
            f"{path} is damaged ({problem}): nothing more is written; restore a backup, "
            "or save what is readable with `ldg backup`"
        ) from problem
    except apsw.CantOpenError as problem:
        raise StoreUnreachable(f"can't open {path} ({problem}): does it exist, and may you read it?") from problem
    except apsw.IOError as problem:
        raise StoreError(f"the disk under {path} failed ({problem}); open the ledger again to go on") from problem
    except apsw.TooBigError as problem:
        raise BadInput("a value is larger than a database row can be (1 GB): split it") from problem
    except apsw.InterruptError as problem:
        raise BadInput(f"{what or 'the query'} took too long and was stopped") from problem
    except apsw.AuthError as problem:
        raise ReadOnlyStore(f"only reading is allowed here ({problem})") from problem
    except apsw.ConstraintError as problem:
        if str(problem).startswith("UNIQUE"):
            raise Conflict(f"it is there already ({problem}): give the new one another id or key") from problem
        if str(problem).startswith("CHECK"):
            allowed = " ".join(str(problem).split())
            raise BadInput(f"a value is not one of those allowed ({allowed})") from problem
        raise StoreError(f"{path} refused a change ({problem}): {_REPORT}") from problem
    except (UnicodeEncodeError, OverflowError) as problem:
        raise BadInput(f"{problem}: pass text without lone surrogates, numbers of at most 64 bits") from problem
    except UnicodeDecodeError as problem:
        raise StoreCorrupt(f"{path} is damaged ({problem}): restore a backup") from problem
    except (apsw.SQLError, apsw.BindingsError) as problem:
        if what:
            raise BadInput(f"{problem}") from problem
        raise StoreError(f"{path} refused a statement ({problem}): {_REPORT}") from problem
