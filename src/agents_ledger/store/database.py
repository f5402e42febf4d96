"""The few verbs of a database, and the way a ledger is named: by its URL."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import pairwise
from typing import Any, TypeVar

from agents_ledger.errors import BadInput, LedgerError, StoreBusy, StoreError

Row = tuple[Any, ...]
ALL = 2**62  # as a limit: everything
T = TypeVar("T")


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
    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> str:
        """A consistent copy, made while others read and write; gives its path. Never overwrites."""

    @abstractmethod
    def pulse(self) -> int:
        """A number that is another one after somebody, whoever it is, has committed; cheap enough to be asked often."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What `doctor` shows: engine, version, file, journal, sizes."""

    @abstractmethod
    def close(self) -> None:
        """Gives everything back; a second close does nothing."""


class Job:
    """One body waiting for its turn in a shared commit."""

    __slots__ = ("_baton", "body", "error", "is_done", "is_kept", "is_left", "is_woken", "leads", "next", "result")

    def __init__(self, body: Callable[[Tx], Any]) -> None:
        self.body = body
        self.is_done = False
        self.is_kept = False  # committed, whatever happened to the leader afterwards
        self.leads = False
        self.is_woken = False
        self.is_left = False  # nobody waits for it any more
        self.next: Job | None = None  # whom to wake after it
        self.result: Any = None
        self.error: BaseException | None = None
        self._baton = threading.Lock()
        self._baton.acquire()

    def wait(self) -> None:
        """Sleeps until somebody has done it, or hands over the lead."""
        self._baton.acquire()

    def wake(self) -> None:
        """Ends the waiting: it is done, or it leads from now on. A second call does nothing."""
        self.is_woken = True
        with suppress(RuntimeError):
            self._baton.release()


class GroupCommit:
    """Lets threads that wait for the writer share one commit.

    One thread leads: it runs everything that waits, each body in a savepoint, commits once, wakes the others
    and hands the lead to the first that came meanwhile. Where several came together the last time, a leader
    waits a moment for as many. A single thread always leads, and never waits for company.

    Whoever is woken wakes the next: if the leader woke all at once, they would stand in line for Python's lock, and
    each place in that line is a sleep of its own (a tenth to a fifth of the time of sixteen threads).
    """

    LIMIT = 64  # bodies in one commit
    PATIENCE = 4  # times
    PATIENCE_S = 0.001

    def __init__(self, run: Callable[[list[Job]], None]) -> None:
        self._run = run
        self._waiting: list[Job] = []
        self._lock = threading.Lock()
        self._is_led = False
        self._leader: int | None = None  # the thread that is committing
        self._expected = 1
        self._is_complete = threading.Event()

    def submit(self, body: Callable[[Tx], T]) -> T:
        """The body's result, after its commit."""
        if self._leader == threading.get_ident():
            raise StoreBusy("this thread is in the middle of a commit (a signal handler?): let it finish first")
        job = Job(body)
        with self._lock:
            self._waiting.append(job)
            must_wait, self._is_led = self._is_led, True
            if len(self._waiting) >= self._expected > 1:
                self._is_complete.set()
        if must_wait:
            self._wait(job)
        if not job.is_done:
            self._lead(job)
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def _wait(self, job: Job) -> None:
        try:
            job.wait()
            self._wake(job.next)
        except BaseException:  # Ctrl-C: the others must not wait for somebody who is gone
            with self._lock:
                job.is_left = True
                was_woken = job.is_woken
            self._forget(job)
            if was_woken:
                self._wake(job.next)
            if job.leads:
                self._hand_over([], job)
            raise

    def _lead(self, mine: Job) -> None:
        jobs: list[Job] = []
        try:
            if self._expected > 1:
                self._wait_for_company()
            jobs = self._take()
            self._run(jobs)
        except BaseException as problem:
            self._forget(mine)
            for job in jobs:
                # A full disk is the answer for everybody. Ctrl-C is the leader's own: the others' work may be done.
                if job is mine or isinstance(problem, Exception):
                    job.error = problem
                elif not job.is_kept:
                    job.error = _interrupted()
            if not isinstance(problem, LedgerError):
                raise
        finally:
            self._hand_over(jobs, mine)

    def _wait_for_company(self) -> None:
        """Waits for as many as came together the last time; goes on waiting only while somebody comes."""
        for _ in range(self.PATIENCE):
            here = len(self._waiting)
            if self._is_complete.wait(self.PATIENCE_S) or here == len(self._waiting):
                return

    def _take(self) -> list[Job]:
        with self._lock:
            self._leader = threading.get_ident()
            jobs = self._waiting[: self.LIMIT]
            del self._waiting[: self.LIMIT]
            # it shrinks slowly: threads that are late once are expected again
            self._expected = max(len(jobs) + len(self._waiting), self._expected - 1)
            self._is_complete.clear()
        return jobs

    def _forget(self, job: Job) -> None:
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)

    def _hand_over(self, jobs: list[Job], mine: Job) -> None:
        others = [job for job in jobs if job is not mine]
        for job, following in pairwise(others):
            job.next = following
        for job in jobs:
            job.is_done = True
        self._wake(others[0] if others else None)
        with self._lock:
            self._leader = None
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].wake()
            else:
                self._is_led = False

    def _wake(self, job: Job | None) -> None:
        """Wakes the first in a row of jobs that somebody still waits for."""
        with self._lock:
            while job is not None and job.is_left:
                job = job.next
            if job is not None:
                job.wake()


def _interrupted() -> StoreError:
    return StoreError("the shared commit was interrupted: look whether this is there before you try again")


def is_file(url: str) -> bool:
    """Whether a ledger's URL names a file (SQLite) or a server (PostgreSQL)."""
    if "://" not in url or url.startswith("sqlite://"):
        return True
    from urllib.parse import urlsplit  # noqa: PLC0415 - 3 ms, and most ledgers are files

    scheme = urlsplit(url).scheme
    if scheme not in ("sqlite", "postgresql", "postgres"):
        raise BadInput(f"{scheme}:// is not a ledger: use sqlite:///path/to/ledger.db or postgresql://host/name")
    return scheme == "sqlite"


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
    if not path or path == ":memory:" or "\x00" in path:
        raise BadInput(f"{url!r} names no file: a ledger is kept in a file, e.g. sqlite:///ledger.db")
    return path


def _unquoted(path: str) -> str:
    if "%" not in path:
        return path
    from urllib.parse import unquote  # noqa: PLC0415 - as above

    return unquote(path)
