"""The rows of other programs' databases, by the conversation that they belong to."""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from agents_ledger.model.formats import Owned, Row, Tables

if TYPE_CHECKING:
    from agents_ledger.capture.databases import Source

_VIRTUAL = 2  # what `table_xinfo` says of a column that is computed when it is read
_COLUMN, _HIDDEN = 1, 6  # places in its rows


class Groups:
    """The rows of a database, by what they belong to. Keys first: values are read group by group."""

    def __init__(self, source: "Source", tables: Tables) -> None:
        self._connection = source.connection
        self._budget = source.budget
        self._tables = tables
        self._rows: dict[str, list[tuple[str, str, int]]] = {}
        there = _plain_tables(source, tables)
        for table, names in tables.columns.items():
            if table in there and there[table].issuperset(names):
                self._group(table, names[0])
        self._known = there
        self._owned = [
            OwnedRows(source, table, owned, there[table]) for table, owned in tables.owned.items() if table in there
        ]

    def names(self) -> list[str]:
        """The groups that there are."""
        return sorted({*self._rows, *(name for rows in self._owned for name in rows.owners())})

    def stamps(self) -> dict[str, list[tuple[object, ...]]]:
        """Of each group what changes whenever it does; groups of which that is not known are left out."""
        found: dict[str, list[tuple[object, ...]]] = {}
        unsure = set(self._rows)
        for owned in self._owned:
            if owned.has_stamp:
                for name, stamp in owned.stamps():
                    found.setdefault(name, []).append(stamp)
            else:
                unsure.update(owned.owners())
        return {name: stamps for name, stamps in found.items() if name not in unsure}

    def rows(self, group: str) -> Iterator[Row]:
        """A group's rows in the order of their keys, then those that they refer to."""
        for owned in self._owned:
            yield from owned.of(group)
        referred: dict[tuple[str, str], None] = {}
        for table, key, rowid in sorted(self._rows.get(group, ())):
            value = self._tables.clean(table, key, self._value(table, rowid))
            yield Row(table, key, value)
            for other in self._tables.refers(table, key, value):
                referred.setdefault(other)
        yield from self._referred(referred)

    def _referred(self, wanted: dict[tuple[str, str], None]) -> Iterator[Row]:
        done: set[tuple[str, str]] = set()
        queue = deque(wanted)
        while queue:
            table, key = queue.popleft()
            if (table, key) in done or table not in self._tables.columns or self._tables.group(table, key) != "":
                continue
            done.add((table, key))
            names = self._tables.columns[table]
            if not self._known.get(table, frozenset()).issuperset(names):
                continue
            sql = f"SELECT rowid FROM {_name(table)} WHERE {_name(names[0])} = ?"  # noqa: S608 - the format's own names
            rowid = self._connection.execute(sql, (key,)).get
            if rowid is not None:
                value = self._tables.clean(table, key, self._value(table, rowid))
                yield Row(table, key, value)
                queue += [other for other in self._tables.refers(table, key, value) if other not in done]

    def _group(self, table: str, key: str) -> None:
        column = _name(key)
        sql = f"SELECT rowid, CAST({column} AS BLOB) FROM {_name(table)} WHERE typeof({column}) = 'text'"  # noqa: S608
        for rowid, data in self._connection.execute(sql):
            self._budget.spend(len(data))
            with suppress(UnicodeDecodeError):  # (no agent has such keys)
                name = data.decode()
                group = self._tables.group(table, name)
                if group:
                    self._rows.setdefault(group, []).append((table, name, rowid))

    def _value(self, table: str, rowid: int) -> bytes:
        column = self._tables.columns[table][1]
        sql = f"SELECT CAST({_name(column)} AS BLOB) FROM {_name(table)} WHERE rowid = ?"  # noqa: S608 - as above
        value: bytes = self._connection.execute(sql, (rowid,)).get or b""
        self._budget.spend(len(value))
        return value


class OwnedRows:
    """The rows of a table that names their group in a column: nothing of it is held in memory."""

    def __init__(self, source: "Source", table: str, owned: Owned, there: frozenset[str]) -> None:
        self._connection = source.connection
        self._budget = source.budget
        self._table = table
        self._is_known = {owned.key, owned.owner} <= there
        self._columns = [column for column in owned.columns if column in there]
        self._data = [column for column in owned.data if column in there]
        self._names = owned
        self.has_stamp = self._is_known and bool(owned.stamp) and there.issuperset(owned.stamp)
        self._end = f"~{table}" if owned.is_apart else ""  # of its groups' names

    def owners(self) -> Iterator[str]:
        """The groups that have rows here."""
        if self._is_known:
            owner = _name(self._names.owner)
            sql = f"SELECT DISTINCT CAST({owner} AS BLOB) FROM {_name(self._table)} WHERE typeof({owner}) = 'text'"  # noqa: S608
            for (name,) in self._connection.execute(sql):
                self._budget.spend(len(name))
                with suppress(UnicodeDecodeError):  # (no agent has such names)
                    yield name.decode() + self._end

    def stamps(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        """For each group the number of rows, the last key and the greatest stamps."""
        owner, table = _name(self._names.owner), _name(self._table)
        told = "".join(f", max({_name(each)})" for each in (self._names.key, *self._names.stamp))
        sql = f"SELECT CAST({owner} AS BLOB), count(*){told} FROM {table} GROUP BY {owner}"  # noqa: S608
        for name, *values in self._connection.execute(sql):
            self._budget.spend(len(name or b""))
            if name is not None:
                yield name.decode("utf-8", "replace") + self._end, (self._table, *values)

    def of(self, group: str) -> Iterator[Row]:
        """The rows of a group, in the order of their keys."""
        if not self._is_known or not group.endswith(self._end):
            return
        key, owner = _name(self._names.key), _name(self._names.owner)
        told = "".join(f", typeof({_name(each)}), CAST({_name(each)} AS BLOB)" for each in self._columns)
        held = "".join(f"CAST({_name(each)} AS BLOB), " for each in self._data)
        most = f"coalesce({held}x'', x'')"
        sql = f"SELECT CAST({key} AS BLOB), {most}{told} FROM {_name(self._table)} WHERE {owner} = ? ORDER BY {key}"  # noqa: S608
        for name, data, *values in self._connection.execute(sql, (group.removesuffix(self._end),)):
            self._budget.spend(len(data) + sum(len(value or b"") for value in values[1::2]))
            if name is not None:
                pairs = zip(self._columns, values[::2], values[1::2], strict=True)
                facts = {column: _value_of(kind, value) for column, kind, value in pairs if kind != "null"}
                yield Row(self._table, name.decode("utf-8", "replace"), msgspec.json.encode(facts) + b"\n" + data)


def _plain_tables(source: "Source", tables: Tables) -> dict[str, frozenset[str]]:
    """The tables of a format that are there, each with the columns that hold values.

    A column that is computed when it is read does not count: a few bytes of schema can compute for hours. Virtual
    tables do not count either, because code answers for them.
    """
    needed = {table: set(names) for table, names in tables.columns.items()}
    needed |= {table: {owned.key, owned.owner, *owned.data} for table, owned in tables.owned.items()}
    sql = "SELECT CAST(name AS BLOB) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    names: list[Any] = source.connection.execute(sql).fetchall()
    there = {data.decode("utf-8", "replace") for (data,) in names}
    found: dict[str, frozenset[str]] = {}
    for table in sorted(there & needed.keys()):
        try:
            columns: list[Any] = source.connection.execute(f"PRAGMA table_xinfo({_name(table)})").fetchall()
        except UnicodeDecodeError:
            raise OSError(f"a column of {table} has a name that is not text") from None
        computed = {row[_COLUMN] for row in columns if row[_HIDDEN] == _VIRTUAL}
        if hidden := [row[_COLUMN] for row in columns if row[_COLUMN].lower() == "rowid"] + sorted(
            computed & needed[table]
        ):
            raise OSError(f"column {hidden[0]} of {table} is not a stored value: its rows are not read")
        found[table] = frozenset(row[_COLUMN] for row in columns) - computed
    return found


def _value_of(kind: str, data: bytes) -> int | float | str:
    text = data.decode("utf-8", "replace")
    return int(text) if kind == "integer" else float(text) if kind == "real" else text


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
