"""What runs statements in one file: a transaction that writes, and a snapshot that reads."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from agents_ledger.store.database import Row, Tx
from agents_ledger.store.sqlite_errors import translated
from agents_ledger.store.statements import statements

if TYPE_CHECKING:
    import apsw


class SqliteTx(Tx):
    """A transaction on one connection."""

    def __init__(self, connection: "apsw.Connection") -> None:
        self._cursor = connection.cursor()
        self._walks: list[apsw.Cursor] = []
        self._connection = connection
        self._known = statements("sqlite").made

    def begin(self) -> None:
        """Begins to write: nobody else does, until the end."""
        self._cursor.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Returns when everything is on the disk."""
        self._cursor.execute("COMMIT")

    def run(self, name: str, /, **params: Any) -> None:
        """Runs a statement."""
        statement = self._known[name]
        self._cursor.execute(statement.sql, statement.bind(params))

    def run_all(self, name: str, values: Iterable[object]) -> None:
        """Runs a statement once for each value."""
        statement = self._known[name]
        self._cursor.executemany(statement.sql, map(statement.bind_value, values))

    def each(self, name: str, /, **params: Any) -> Iterator[Row]:
        """The rows of a query, one after the other."""
        statement = self._known[name]
        walk = self._connection.execute(statement.sql, statement.bind(params))
        self._walks.append(walk)
        return walk

    def rows(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a query."""
        statement = self._known[name]
        return self._cursor.execute(statement.sql, statement.bind(params)).fetchall()

    def end(self) -> None:
        """Ends what is still being asked or done: it would keep its snapshot, and others from committing.

        An exception keeps everything alive that was under way, as long as somebody looks at it.
        """
        for walk in self._walks:
            walk.close(force=True)
        self._walks.clear()
        self._cursor.close(force=True)

    def begin_again(self) -> None:
        """Ends all that, and takes new statements."""
        self.end()
        self._cursor = self._connection.cursor()


class SqliteReadTx(SqliteTx):
    """A snapshot; errors of the engine come out as ours."""

    def __init__(self, connection: "apsw.Connection", path: str, on_damaged_text: Callable[[], None] | None) -> None:
        super().__init__(connection)
        self.connection = connection
        self.on_damaged_text = on_damaged_text
        self._translated = translated(path)

    def each(self, name: str, /, **params: Any) -> Iterator[Row]:
        """The rows of a query, one after the other."""
        given = 0
        with self._translated:
            try:
                for row in super().each(name, **params):
                    yield row
                    given += 1
            except UnicodeDecodeError:
                if self.on_damaged_text is None:
                    raise
                self.on_damaged_text()
                yield from self._in_spite_of_damage(name, params)[given:]

    def rows(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a query."""
        statement = self._known[name]
        with self._translated:
            try:
                return self._cursor.execute(statement.sql, statement.bind(params)).fetchall()
            except UnicodeDecodeError:
                if self.on_damaged_text is None:
                    raise
                self.on_damaged_text()
                return self._in_spite_of_damage(name, params)

    def _in_spite_of_damage(self, name: str, params: dict[str, Any]) -> list[Row]:
        statement = self._known[name]
        bound = statement.bind(params)
        width = len(self._cursor.execute(statement.sql, bound).get_description())
        self._cursor.close(True)  # noqa: FBT003 - a statement that stopped half-way would keep its snapshot
        self._cursor = self._connection.cursor()
        return [as_texts(row) for row in self._connection.execute(with_bytes(statement.sql, width), bound)]


def with_bytes(sql: str, width: int) -> str:
    """A query that gives its texts as bytes, each value behind whether it is one: apsw can't read a text otherwise."""
    names = [f"c{at}" for at in range(width)]
    taken = (
        f"typeof({each}) = 'text', CASE typeof({each}) WHEN 'text' THEN CAST({each} AS BLOB) ELSE {each} END"
        for each in names
    )
    inner = sql.rstrip("; \n\t")
    return f"WITH whole({', '.join(names)}) AS ({inner}\n) SELECT {', '.join(taken)} FROM whole"  # noqa: S608 - it reads


def as_texts(row: Row) -> Row:
    """A row of such a query, with replacement characters for what is no text."""
    pairs = zip(row[::2], row[1::2], strict=True)
    return tuple(value.decode("utf-8", "replace") if is_text else value for is_text, value in pairs)
