"""Rows that damage has left without sense, named by their own keys: texts that are none, references to nothing."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from agents_ledger.store.database import Database

_BYTES = {"sqlite": "CAST({} AS BLOB)", "postgres": "textsend({}::TEXT)"}


class Damaged(Struct, frozen=True):
    """A value that makes no sense any more."""

    table: str
    key: str  # the row's own: its `id`, else its primary key
    column: str
    value: str  # as far as it can be read


class _Table(Struct, frozen=True):
    name: str
    key: list[str]
    texts: list[str]


def damaged_texts(database: Database) -> Iterator[Damaged]:
    """Texts that are no UTF-8 any more. It reads everything, so it is asked when one has been met."""
    for table in _tables(database):
        for known, values in _raw(database, table.name, table.key, table.texts):
            for column, value in zip(table.texts, values, strict=True):
                if value is not None and _read(value).encode() != bytes(value):
                    yield Damaged(table.name, known, column, _read(value))


def broken_references(database: Database) -> Iterator[Damaged]:
    """Rows that refer to one that is not there."""
    with database.read() as tx:
        links = tx.rows("broken_links")
    keys = {table.name: table.key for table in _tables(database)} if links else {}
    for table, column, parent, target in links:
        where = f"{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE p.{target} = {table}.{column})"  # noqa: S608 - our own names
        for known, [value] in _raw(database, table, keys[table], [column], f" WHERE {where}"):
            yield Damaged(table, known, column, f"{parent} {_read(value)}")


def _tables(database: Database) -> list[_Table]:
    found = []
    with database.read() as tx:
        listed = tx.rows("all_columns")
    for name, rows in groupby(listed, itemgetter(0)):
        columns = [row[1:] for row in rows]
        primary = [column for column, _, place in sorted(columns, key=lambda row: row[2] or 0) if place is not None]
        key = ["id"] if any(column == "id" for column, *_ in columns) else primary
        found.append(_Table(name, key, [column for column, is_text, _ in columns if is_text]))
    return found


def _raw(
    database: Database, table: str, key: list[str], columns: list[str], where: str = ""
) -> Iterator[tuple[str, list[bytes | None]]]:
    """The key of each row, and the bytes of some of its columns."""
    taken = ", ".join(_BYTES[database.dialect].format(column) for column in [*key, *columns])
    for row in database.stream(f"SELECT {taken} FROM {table}{where}"):  # noqa: S608 - our own names
        yield " ".join(map(_read, row[: len(key)])), list(row[len(key) :])


def _read(value: bytes | None) -> str:
    return "" if value is None else bytes(value).decode("utf-8", "replace")
