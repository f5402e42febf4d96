"""What runs statements in one file: a transaction that writes, and a snapshot that reads."""

from collections.abc import Iterable, Iterator
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

    def __init__(self, connection: "apsw.Connection", path: str) -> None:
        super().__init__(connection)
        self.connection = connection
        self._translated = translated(path)

    def each(self, name: str, /, **params: Any) -> Iterator[Row]:
        """The rows of a query, one after the other."""
        with self._translated:
            yield from super().each(name, **params)

    def rows(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a query."""
        statement = self._known[name]
        with self._translated:
            return self._cursor.execute(statement.sql, statement.bind(params)).fetchall()
