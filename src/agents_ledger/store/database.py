"""The few verbs of a database, and the way a ledger is named: by its URL."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from agents_ledger.errors import BadInput, TurnIsSealed

if TYPE_CHECKING:
    from agents_ledger.store.files import Copy

Row = tuple[Any, ...]
ALL = 2**62  # as a limit: everything
SEALED = "ledger: the turn is sealed"  # what the guards of a turn and its parts say
_SCHEMES = {"sqlite", "sqlite3", "file", "postgresql", "postgres", "pg", "http", "https"}
T = TypeVar("T")


def sealed() -> TurnIsSealed:
    """What such a guard means."""
    return TurnIsSealed("the turn is finished, and nothing of it changes any more: begin a new one")


class Tx(ABC):
    """One transaction: every statement by its name."""

    on_damaged_text: Callable[[], None] | None = None  # of a snapshot, see `Database`

    @abstractmethod
    def run(self, name: str, /, **params: Any) -> None:
        """Runs a statement; one whose effect matters says RETURNING and is asked by `first` or `value`."""

    @abstractmethod
    def run_all(self, name: str, values: Iterable[object]) -> None:
        """Runs a statement once for each value, bound by its attributes."""

    @abstractmethod
    def each(self, name: str, /, **params: Any) -> Iterator[Row]:
        """The rows of a query, one after the other."""

    def rows(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a query."""
        return list(self.each(name, **params))

    def first(self, name: str, /, **params: Any) -> Row | None:
        """The first row, or None."""
        found = self.rows(name, **params)
        return found[0] if found else None

    def value(self, name: str, /, **params: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.first(name, **params)
        return None if row is None else row[0]


class Database(ABC):
    """A ledger's database. Safe to use from several threads; not over a fork."""

    url: str
    dialect: str
    readonly: bool
    # Called when a snapshot meets a text that is no UTF-8 any more; then it is read with replacement characters.
    # Without it that is an error: no program takes a damaged text for a whole one unawares.
    on_damaged_text: Callable[[], None] | None = None
    migrated: tuple[str, ...] = ()  # the steps by which an older ledger was brought up to date when it was opened
    set_aside: tuple[str, ...] = ()  # what a deleted ledger had left where this one was made, by its new names
    _pid: int

    @property
    def is_carried(self) -> bool:
        """Whether this object came into this process by a fork()."""
        return os.getpid() != self._pid

    @abstractmethod
    def read(self) -> AbstractContextManager[Tx]:
        """One snapshot: everything read inside belongs to the same moment."""

    @abstractmethod
    def write(self, body: Callable[[Tx], T]) -> T:
        """Runs a body in a transaction; returns after it is durable.

        Bodies of several threads share a commit. A body may run more than once before its commit, so it must not
        keep anything outside of the database.
        """

    def expect_much(self) -> None:  # noqa: B027 - an engine that needs not prepare does nothing
        """Gets ready for many large transactions in a row."""

    @abstractmethod
    def tables(self) -> set[str]:
        """The tables that are there."""

    @abstractmethod
    def ask(self, sql: str) -> list[Row]:
        """The rows of a query of ours about the database itself."""

    @abstractmethod
    def stream(self, sql: str) -> Iterator[Row]:
        """The same, row by row, on a connection of its own."""

    @abstractmethod
    def migrate(self, prelude: str, name: str, script: str) -> None:
        """Runs a migration's script in one transaction, unless its name is recorded already."""

    @abstractmethod
    def query(
        self, sql: str, *, limit: int | None = None, timeout_s: float | None = None
    ) -> tuple[list[str], list[Row]]:
        """Somebody's own SQL, read-only whatever it says: column names and rows."""

    @abstractmethod
    def check(self) -> list[str]:
        """What the engine itself finds wrong with its storage."""

    @abstractmethod
    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> "Copy":
        """A consistent copy, made while others read and write. Never overwrites."""

    @abstractmethod
    def pulse(self) -> int:
        """A number that is another one after somebody, whoever it is, has committed; cheap enough to be asked often."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What `doctor` shows: engine, version, file, journal, sizes."""

    @abstractmethod
    def close(self) -> None:
        """Gives everything back; a second close does nothing."""


def is_file(url: str) -> bool:
    """Whether a ledger's URL names a file (SQLite) or a server (PostgreSQL)."""
    if "://" not in url or url.startswith("sqlite://"):
        _refuse_other_names(url)
        return True
    from urllib.parse import urlsplit  # noqa: PLC0415 - 3 ms, and most ledgers are files

    scheme = urlsplit(url).scheme
    if scheme not in ("sqlite", "postgresql", "postgres"):
        raise BadInput(f"{scheme}:// is not a ledger: use sqlite:///path/to/ledger.db or postgresql://host/name")
    return scheme == "sqlite"


def _refuse_other_names(url: str) -> None:
    """Refuse what looks like a URL and would be taken for a file's name: `sqlite:x.db`, `file:x.db`, spaces."""
    if url.startswith("sqlite://"):
        return
    scheme, colon, _ = url.partition(":")
    if colon and scheme.lower() in _SCHEMES:
        raise BadInput(
            f"{url!r} is neither a path nor a URL of a ledger: use a plain path, sqlite:///path/to/ledger.db or "
            f"postgresql://host/name (a file whose name begins so: ./{url})"
        )


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    if "://" not in url or url.startswith("sqlite:"):
        return url
    import re  # noqa: PLC0415 - as above
    from urllib.parse import urlsplit, urlunsplit  # noqa: PLC0415 - as above

    try:
        parts = urlsplit(url)
    except ValueError:  # no URL at all: nobody knows where a password would be
        return f"{url.partition('://')[0]}://***"
    user, mark, host = parts.netloc.rpartition("@")
    name, is_secret, _ = user.partition(":")
    netloc = f"{name}:***@{host}" if mark and is_secret and user != f"{name}:" else parts.netloc
    query = re.sub(r"(?i)\b(\w*password)=[^&]*", r"\1=***", parts.query)
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def open_database(url: str, *, readonly: bool = False) -> Database:
    """The database of a URL: `sqlite:///path`, a plain path, or `postgresql://…`."""
    if not is_file(url):
        from agents_ledger.store.postgres import PostgresDatabase  # noqa: PLC0415 - 220 ms, only when asked for

        return PostgresDatabase(url, readonly=readonly)
    from agents_ledger.store.sqlite import SqliteDatabase  # noqa: PLC0415 - only when asked for

    return SqliteDatabase(sqlite_path(url), readonly=readonly)


def sqlite_path(url: str) -> str:
    """The file of an SQLite URL (`sqlite:///rel.db`, `sqlite:////abs.db`) or of a plain path."""
    if "://" not in url:
        path = url
    elif url.startswith("sqlite:///"):
        path = _unquoted(url.removeprefix("sqlite:///"))
    else:
        raise BadInput(f"{url!r}: an SQLite URL has three slashes: sqlite:///ledger.db or sqlite:////abs/ledger.db")
    if not path.strip() or path == ":memory:" or "\x00" in path:
        raise BadInput(f"{url!r} names no file: a ledger is kept in a file, e.g. sqlite:///ledger.db")
    return path


def _unquoted(path: str) -> str:
    if "%" not in path:
        return path
    from urllib.parse import unquote  # noqa: PLC0415 - as above

    return unquote(path)
