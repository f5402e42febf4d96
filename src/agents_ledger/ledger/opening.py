"""Opening a ledger: making it where there is none, bringing it up to date, refusing what is not ours."""

import os
from typing import TYPE_CHECKING, cast

from agents_ledger.errors import NotFound, StoreUnreachable
from agents_ledger.store import Database, open_database
from agents_ledger.store.database import is_file, sqlite_path
from agents_ledger.store.migrate import migrate, migrations, require_current, require_ledger

if TYPE_CHECKING:
    from agents_ledger.store.statements import Dialect


def opened(url: str, *, readonly: bool, create: bool) -> Database:
    """A database with the current schema. Read-only opening changes nothing, not even an old schema."""
    set_aside: tuple[str, ...] = ()
    if is_file(url) and not _is_there(sqlite_path(url)):
        if readonly or not create:
            raise _missing(url)
        set_aside = _create_file(url)
    database = open_database(url, readonly=readonly)
    database.set_aside = set_aside
    try:
        if readonly:
            require_current(database)
        else:
            bring_up_to_date(database)
    except BaseException:
        database.close()
        raise
    return database


def opened_as_it_is(url: str) -> Database:
    """A database read-only, also one that is not migrated yet: for a copy of it."""
    require_there(url)
    database = open_database(url, readonly=True)
    try:
        require_ledger(database)
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
        "`ldg demo` one to look at; `ldg restore BACKUP` restores a backup"
    )


def _is_there(path: str) -> bool:
    if os.path.exists(path):  # noqa: PTH110 - what is there is opened without `pathlib`, which takes 4 ms to load
        return True
    from pathlib import Path  # noqa: PLC0415 - it knows why

    try:
        return Path(path).exists()
    except OSError as problem:  # a folder that may not be entered, a name that is too long
        raise StoreUnreachable(f"can't open {path} ({problem.strerror}): does it exist, and may you read it?") from None


def bring_up_to_date(database: Database) -> None:
    """Migrate a ledger; give one that was restored or copied by hand the log that a ledger in use has."""
    steps = migrate(database)
    if len(steps) < len(migrations(cast("Dialect", database.dialect))):
        database.migrated = tuple(steps)
    if is_file(database.url):
        from agents_ledger.store import sqlite  # noqa: PLC0415 - only of a file

        if steps and not database.migrated:  # it was an empty file that somebody else had made
            sqlite.prepare(database)
        elif isinstance(database, sqlite.SqliteDatabase):
            database.use_log()


def _create_file(url: str) -> tuple[str, ...]:
    from agents_ledger.store import sqlite  # noqa: PLC0415 - only when a file is made

    return sqlite.create(sqlite_path(url), migrate)
