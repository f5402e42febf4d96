"""Somebody's own SQL on a server: one statement, that reads, within a time.

If the user of the connection may do more than read and write tables, it is run as a role that only reads the ledger
(see `postgres_reader`). Otherwise it is sent as the body of a cursor, in a transaction that reads: the server takes
nothing there but a query. Sent by itself it could be a block that ends the transaction and begins another one, or a
copy into a file.
"""

import re
from collections.abc import Callable
from typing import Any, LiteralString

import psycopg
from psycopg import errors as pg

from agents_ledger.errors import BadInput, ReadOnlyStore
from agents_ledger.store.database import Row
from agents_ledger.store.postgres_reader import ask as _ask_confined
from agents_ledger.store.postgres_reader import is_privileged

_QUERY = re.compile(r"(?is)(?>\s|\(|--[^\n]*|/\*.*?\*/)*+(?:SELECT|WITH|VALUES|TABLE)\b")
_ABOUT = re.compile(r"\s*(?:EXPLAIN|SHOW)\b", re.IGNORECASE)  # (no comment before it: it is certain what it is)


class AnyText(psycopg.adapt.Loader):
    """A text as far as it is one."""

    def load(self, data: Any) -> str:
        """With replacement characters."""
        return bytes(data).decode("utf-8", "replace")


def read_only(
    connection: "psycopg.Connection[Row]",
    sql: str,
    limit: int | None,
    timeout_s: float | None,
    on_damaged_text: Callable[[], None] | None,
) -> tuple[list[str], list[Row]]:
    """Column names and rows; refuses everything else before it is sent, or lets the server refuse it."""
    if _ABOUT.match(sql) is None and _QUERY.match(sql) is None:
        raise ReadOnlyStore("only reading is allowed here: begin with SELECT or WITH")
    connection.execute(_sql(f"SET statement_timeout = {int((timeout_s or 0) * 1000)}"))
    ask = _ask_confined if is_privileged(connection) else _ask
    try:
        return ask(connection, sql, limit, {})
    except UnicodeDecodeError:
        if on_damaged_text is None:
            raise
        on_damaged_text()
        return ask(connection, sql, limit, {"text": AnyText})


def _ask(
    connection: "psycopg.Connection[Row]", sql: str, limit: int | None, loaders: dict[str, type[psycopg.adapt.Loader]]
) -> tuple[list[str], list[Row]]:
    cursor = connection.cursor()
    for name, loader in loaders.items():
        cursor.adapters.register_loader(name, loader)
    try:
        return _asked(cursor, sql, limit)
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def _asked(cursor: "psycopg.Cursor[Row]", sql: str, limit: int | None) -> tuple[list[str], list[Row]]:
    cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        # prepare=True sends it by the protocol that takes one statement only
        if _ABOUT.match(sql):
            cursor.execute(_sql(sql), prepare=True)
        else:
            cursor.execute(_sql(f"DECLARE asked NO SCROLL CURSOR FOR {sql}"), prepare=True)
            cursor.execute(_sql(f"FETCH {'ALL' if limit is None else limit} FROM asked"))
    except pg.FeatureNotSupported as problem:  # a WITH that writes
        raise ReadOnlyStore(f"only reading is allowed here ({problem.diag.message_primary})") from problem
    except pg.SyntaxError as problem:
        told = problem.diag.message_primary or ""
        raise BadInput("give one statement at a time" if "multiple commands" in told else told) from problem
    rows = cursor.fetchall() if limit is None else cursor.fetchmany(limit)
    return [column.name for column in cursor.description or ()], rows


def _sql(text: str) -> LiteralString:
    """To a driver that asks for literals: what may be in it is said above."""
    return text
