"""Other programs' databases: copied out, never changed, never blocked for long; then read from the copy."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import msgspec

from agents_ledger.model.formats import Owned, Row, Tables

_PAGES = 2000  # copied at a time: the owner can write in between
_TRIES = 5
_BUSY_MS = 2000


@contextmanager
def copied(path: str) -> Iterator[apsw.Connection]:
    """A consistent copy of a database, open for reading."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - only for databases

    with TemporaryDirectory(prefix="ldg-") as folder:
        target = Path(folder) / "copy.db"
        _copy(Path(path), target)
        connection = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON")
            connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
            yield connection
        finally:
            connection.close()


def _copy(source: Path, target: Path) -> None:
    wal, shm = source.with_name(source.name + "-wal"), source.with_name(source.name + "-shm")
    if wal.exists() and not shm.exists():
        # Nobody has it open, and opening it here would make files beside it: both files as they are
        _copy_files(source, wal, target)
        return
    uses_wal = _uses_wal(source)
    if uses_wal and not wal.exists():
        name = f"file:{_quoted(source)}?mode=ro&immutable=1"  # nobody has it open
    else:
        name = f"file:{_quoted(source)}?mode=ro"
    reader = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        reader.set_busy_timeout(_BUSY_MS)
        copy = apsw.Connection(str(target))
        try:
            with copy.backup("main", reader, "main") as steps:
                while not steps.done:
                    steps.step(_PAGES)
        finally:
            copy.close()
    finally:
        reader.close()


def _copy_files(source: Path, wal: Path, target: Path) -> None:
    from shutil import copyfile  # noqa: PLC0415 - only for databases

    for _ in range(_TRIES):
        before = _stamp(source, wal)
        copyfile(source, target)
        copyfile(wal, target.with_name(target.name + "-wal"))
        if _stamp(source, wal) == before:
            return
    raise OSError(f"{source} keeps changing while it is copied")


def _stamp(*paths: Path) -> list[tuple[int, int]]:
    return [(facts.st_size, facts.st_mtime_ns) for facts in (path.stat() for path in paths)]


def _uses_wal(source: Path) -> bool:
    with source.open("rb") as file:
        return file.read(20)[18:20] == b"\x02\x02"


def _quoted(path: Path) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - only for databases

    return quote(str(path))


class Groups:
    """The rows of a copied database, by what they belong to. Keys first: values are read group by group."""

    def __init__(self, connection: apsw.Connection, tables: Tables) -> None:
        self._connection = connection
        self._tables = tables
        self._rows: dict[str, list[tuple[str, str, int]]] = {}
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        for table, (key, _value) in tables.columns.items():
            if table in there:
                self._group(table, key)
        self._owned = [OwnedRows(connection, table, owned) for table, owned in tables.owned.items() if table in there]

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
            sql = f"SELECT rowid FROM {_name(table)} WHERE {_name(names[0])} = ?"  # noqa: S608 - the format's own names
            rowid = self._connection.execute(sql, (key,)).get
            if rowid is not None:
                value = self._tables.clean(table, key, self._value(table, rowid))
                yield Row(table, key, value)
                queue += [other for other in self._tables.refers(table, key, value) if other not in done]

    def _group(self, table: str, key: str) -> None:
        for rowid, name in self._connection.execute(f"SELECT rowid, {_name(key)} FROM {_name(table)}"):  # noqa: S608
            if not isinstance(name, str):
                continue
            group = self._tables.group(table, name)
            if group:
                self._rows.setdefault(group, []).append((table, name, rowid))

    def _value(self, table: str, rowid: int) -> bytes:
        column = self._tables.columns[table][1]
        sql = f"SELECT CAST({_name(column)} AS BLOB) FROM {_name(table)} WHERE rowid = ?"  # noqa: S608 - as above
        return self._connection.execute(sql, (rowid,)).get or b""


class OwnedRows:
    """The rows of a table that names their group in a column: nothing of it is held in memory."""

    def __init__(self, connection: apsw.Connection, table: str, owned: Owned) -> None:
        self._connection = connection
        self._table = table
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({_name(table)})")}
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
                with suppress(UnicodeDecodeError):  # (no agent has such names)
                    yield name.decode() + self._end

    def stamps(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        """For each group the number of rows, the last key and the greatest stamps."""
        owner, table = _name(self._names.owner), _name(self._table)
        told = "".join(f", max({_name(each)})" for each in (self._names.key, *self._names.stamp))
        sql = f"SELECT CAST({owner} AS BLOB), count(*){told} FROM {table} GROUP BY {owner}"  # noqa: S608
        for name, *values in self._connection.execute(sql):
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
            if name is not None:
                pairs = zip(self._columns, values[::2], values[1::2], strict=True)
                facts = {column: _value_of(kind, value) for column, kind, value in pairs if kind != "null"}
                yield Row(self._table, name.decode("utf-8", "replace"), msgspec.json.encode(facts) + b"\n" + data)


def _value_of(kind: str, data: bytes) -> int | float | str:
    text = data.decode("utf-8", "replace")
    return int(text) if kind == "integer" else float(text) if kind == "real" else text


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
