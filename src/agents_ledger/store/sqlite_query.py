"""Somebody's own SQL on a ledger file: one statement, that reads, within a time."""

import time
from typing import Any

import apsw

from agents_ledger.errors import BadInput
from agents_ledger.store.database import Row

_READING = {
    apsw.SQLITE_SELECT,
    apsw.SQLITE_READ,
    apsw.SQLITE_FUNCTION,
    apsw.SQLITE_RECURSIVE,
}
_HARMLESS_PRAGMAS = {
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "database_list",
    "data_version",
}
# The longest value or row, in bytes: SQLite looks at the clock only between operations, and one on 900 MB took 25 s.
_LONGEST = 128 << 20
_UNSAFE_FUNCTIONS = {"load_extension", "writefile", "readfile", "edit", "fts3_tokenizer"}


def read_only(
    connection: apsw.Connection, sql: str, limit: int | None, timeout_s: float | None
) -> tuple[list[str], list[Row]]:
    """Column names and rows; refuses to write, attach, or change settings."""
    connection.authorizer = _authorize_reading
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST)
    if timeout_s:
        _stop_after(connection, timeout_s)
    try:
        names = column_names(connection, sql)
        cursor = connection.execute(sql)
        return names, cursor.fetchall() if limit is None else _fetch(cursor, limit)
    except apsw.TooBigError as problem:
        most = _LONGEST >> 20
        raise BadInput(f"the query meets or makes a value of more than {most} MB: leave that value out") from problem


def _authorize_reading(operation: int, one: str | None, two: str | None, *_: str | None) -> int:
    if operation == apsw.SQLITE_PRAGMA:
        allowed = (one or "").lower() in _HARMLESS_PRAGMAS
    elif operation == apsw.SQLITE_FUNCTION:
        allowed = (two or "").lower() not in _UNSAFE_FUNCTIONS
    else:
        allowed = operation in _READING
    return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY


def _stop_after(connection: apsw.Connection, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)


def _fetch(cursor: Any, limit: int) -> list[Row]:
    found: list[Row] = []
    for row in cursor:
        found.append(row)
        if len(found) >= limit:
            break
    return found


def column_names(connection: apsw.Connection, sql: str) -> list[str]:
    """The names of what one statement gives."""
    import apsw.ext  # noqa: PLC0415 - only for people's own queries

    info = apsw.ext.query_info(connection, sql)
    if (info.query_remaining or "").strip(" \n\t;"):
        raise BadInput("give one statement at a time")
    return [column[0] for column in info.description]
