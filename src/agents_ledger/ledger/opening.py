"""Opening a ledger: making it where there is none, bringing it up to date, refusing what is not ours."""

import os

from agents_ledger.errors import NotFound, StoreUnreachable
from agents_ledger.store import Database, open_database
from agents_ledger.store.database import is_file, sqlite_path
from agents_ledger.store.migrate import migrate, require_current


def opened(url: str, *, readonly: bool, create: bool) -> Database:
    """A database with the current schema. Read-only opening changes nothing, not even an old schema."""
    if is_file(url) and not _is_there(sqlite_path(url)):
        if readonly or not create:
            raise _missing(url)
        _create_file(url)
    database = open_database(url, readonly=readonly)
    try:
        if readonly:
            require_current(database)
        elif migrate(database) and is_file(url):
            _prepare_file(database)  # it was an empty file that somebody else had made
    except BaseException:
        database.close()
        raise
    return database


def require_there(url: str) -> None:
    """Says how to get a ledger, where there is none."""
    if is_file(url) and not _is_there(sqlite_path(url)):
        raise _missing(url)


def _missing(url: str) -> NotFound:
    return NotFound(
        f"there is no ledger at {sqlite_path(url)}: `ldg sync` makes one of the agents' sessions, "
        "`ldg demo` one to look at"
    )


def _is_there(path: str) -> bool:
    if os.path.exists(path):  # noqa: PTH110 - what is there is opened without `pathlib`, which takes 4 ms to load
        return True
    from pathlib import Path  # noqa: PLC0415 - it knows why

    try:
        return Path(path).exists()
    except OSError as problem:  # a folder that may not be entered, a name that is too long
        raise StoreUnreachable(f"can't open {path} ({problem.strerror}): does it exist, and may you read it?") from None


def _prepare_file(database: Database) -> None:
    from agents_ledger.store import sqlite  # noqa: PLC0415 - only when a file is made

    sqlite.prepare(database)


def _create_file(url: str) -> None:
    from agents_ledger.store import sqlite  # noqa: PLC0415 - only when a file is made

    sqlite.create(sqlite_path(url), migrate)
