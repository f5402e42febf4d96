"""A ledger in one file, through apsw (it carries its own SQLite)."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import ENOSPC
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from agents_ledger.errors import ReadOnlyStore, StoreClosed, StoreCorrupt, StoreError
from agents_ledger.store import forking, sqlite_rank
from agents_ledger.store.database import Database, Row, Tx
from agents_ledger.store.files import (
    Copy,
    absolute,
    filesystem_of,
    is_unchanging,
    make_copy,
    make_whole,
    require_folder,
)
from agents_ledger.store.group import GroupCommit, Job
from agents_ledger.store.sidecars import has_log, publish_database, refuse_emptied
from agents_ledger.store.sqlite_errors import BUSY_MS, as_ours, translated
from agents_ledger.store.sqlite_tx import SqliteReadTx, SqliteTx, as_texts, with_bytes

if TYPE_CHECKING:  # `pathlib` takes 4 ms to load, and is needed to make and to copy files
    from pathlib import Path

T = TypeVar("T")
APPLICATION_ID = 0x6C646731  # "ldg1": `file` and others can tell a ledger
_STATEMENTS = 512  # the most that apsw keeps; each row of an `executemany` uses up a place
_IDLE_READERS = 8
_READABLE = apsw.SQLITE_OPEN_READONLY
_WRITABLE = apsw.SQLITE_OPEN_READWRITE  # never SQLITE_OPEN_CREATE: see `create`


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Whether this SQLite is free of the WAL-reset bug (3.7.0 to 3.51.2; also fixed in 3.50.7 and 3.44.6)."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def sqlite_version() -> tuple[int, ...]:
    """The version that runs."""
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))


def count_no_memory() -> None:
    """Lets SQLite not add up what it allocates: each time a lock, 1.3 % of a sync.

    For a process that is all ours: it is a setting of the library, and SQLite takes it before anything is open only.
    """
    if not apsw.connections():
        apsw.shutdown()
        apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, False)  # noqa: FBT003 - as SQLite has it
        apsw.initialize()


class SqliteDatabase(Database):
    """One file: a single writer connection, and readers beside it."""

    dialect = "sqlite"

    def __init__(self, path: str, *, readonly: bool) -> None:
        self.path = absolute(path)
        self.url = f"sqlite:///{self.path}"
        self.readonly = readonly
        self._pid = os.getpid()
        self._closed = False
        self._broken: StoreError | None = None
        self._readers: list[apsw.Connection] = []
        self._listener: apsw.Connection | None = None
        # Held while the writer is used, the list of readers is changed, a connection is opened; taken in this order.
        self._writer_lock, self._readers_lock, self._opening = threading.RLock(), threading.RLock(), threading.RLock()
        self._held: list[Callable[[], None]] = []  # by a fork
        self._forks = 0
        self._group = GroupCommit(self._run)
        require_folder(self.path)
        # Each connection takes 2 ms, to read the schema: the writer's is made when something is written. The first
        # reader can end what a crash has left behind.
        self._writer: apsw.Connection | None = None
        refuse_emptied(self.path)
        self._is_unchanging = readonly and is_unchanging(self.path)
        # SQLite makes `-wal` and `-shm` beside a file to read it, and a connection that can't write leaves them there.
        # So where there was no log, one connection can write (`query_only` keeps it from it) and is closed last.
        self._last: apsw.Connection | None = None
        is_tidy = readonly and not self._is_unchanging and not has_log(self.path)
        forking.take_part(self)
        with translated(self.path):
            self._readers.append(self._connect(_READABLE if readonly and not is_tidy else _WRITABLE))
        if is_tidy:
            self._last = self._readers[0]

    def read(self) -> "_Read":
        """One snapshot."""
        return _Read(self)

    def write(self, body: Callable[[Tx], T]) -> T:
        """A durable transaction."""
        self._usable_writer()
        return self._group.submit(body)

    def expect_much(self) -> None:
        """Batches of several MB: pages that change in each of them go from the log into the file less often.

        Keys of other programs come in no order: half as much again of a cache saves a quarter of the reading.
        """
        with translated(self.path), self._writer_lock:
            # `wal_autocheckpoint` gives a row: what stands behind it is run when that is fetched
            self._usable_writer().execute("PRAGMA cache_size=-24576; PRAGMA wal_autocheckpoint=16000").fetchall()

    def tables(self) -> set[str]:
        """The tables that are there."""
        with self.read() as tx, translated(self.path):
            return {name for (name,) in tx.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def ask(self, sql: str) -> list[Row]:
        """The rows of a query about the database itself."""
        if self.readonly:
            with self.read() as tx, translated(self.path):
                return tx.connection.execute(sql).fetchall()
        with self._writer_lock, translated(self.path):
            return self._usable_writer().execute(sql).fetchall()

    def stream(self, sql: str) -> Iterator[Row]:
        """The same, row by row, on a connection of its own."""
        self._check_usable()
        with translated(self.path):
            connection = self._connect()
            try:
                yield from connection.execute(sql)
            finally:
                connection.close()

    def migrate(self, prelude: str, name: str, script: str) -> None:
        """A migration, unless it is there already."""
        with self._writer_lock, translated(self.path):
            connection = self._usable_writer()
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(prelude)
                if not connection.execute("SELECT 1 FROM ledger_migrations WHERE name = ?", (name,)).get:
                    connection.execute(script)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def query(
        self, sql: str, *, limit: int | None = None, timeout_s: float | None = None
    ) -> tuple[list[str], list[Row]]:
        """Somebody's own SQL, on a connection that can't write, attach, or change settings."""
        from agents_ledger.store.sqlite_query import column_names, read_only  # noqa: PLC0415 - only here

        self._check_usable()
        with translated(self.path):
            connection = self._connect()
        try:
            with translated(self.path, "the query"):
                try:
                    return read_only(connection, sql, limit, timeout_s)
                except UnicodeDecodeError:
                    if self.on_damaged_text is None:
                        raise
                    self.on_damaged_text()
                    names = column_names(connection, sql)
                    rows = read_only(connection, with_bytes(sql, len(names)), limit, timeout_s)[1]
                    return names, [as_texts(row) for row in rows]
        finally:
            connection.close()

    def check(self) -> list[str]:
        """SQLite's own integrity check."""
        # a connection of its own: one that has searched before keeps an outdated picture of the search index here
        return [text for (text,) in self.stream("PRAGMA integrity_check(20)") if text != "ok"]

    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> Copy:
        """The backup API, into a new file that appears only when it is complete."""
        return make_copy(target, lambda partial: self.copy_into(partial, progress), publish_database)

    def copy_into(self, target: "Path", progress: Callable[[int, int], None] | None = None) -> None:
        """Copy all of one snapshot into a file of our own, which needs no log beside it to be read."""
        self._check_usable()
        self._copy_to(target, progress)
        with translated(str(target)):
            copy = apsw.Connection(str(target), flags=_WRITABLE)
            try:
                copy.execute("PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE").fetchall()
            except apsw.FullError:
                raise OSError(ENOSPC, "no space left") from None
            finally:
                copy.close()

    def use_log(self) -> None:
        """Write through a log from now on, if the file was a copy that has none."""
        with self.read() as tx, translated(self.path):
            mode = tx.connection.execute("PRAGMA journal_mode").get
        if mode == "delete" and mode != _journal_mode():
            self.ask(f"PRAGMA journal_mode={_journal_mode()}")

    def pulse(self) -> int:
        """SQLite's `data_version`, on a connection that does nothing else: it counts the commits of all others."""
        self._check_usable()
        with translated(self.path), self._readers_lock:
            if self._listener is None:
                self._listener = self._connect()
            # what a new connection counts is not comparable with what the last one did
            return int(self._listener.execute("PRAGMA data_version").get) + (self._forks << 40)

    def facts(self) -> dict[str, Any]:
        """What `doctor` shows."""
        from pathlib import Path  # noqa: PLC0415 - as above

        with self.read() as tx:
            ask = tx.connection.execute
            return {
                "engine": "SQLite",
                "version": apsw.sqlite_lib_version(),
                "source_id": apsw.sqlite3_sourceid(),
                "apsw": apsw.apsw_version(),
                "wal_reset_bug": not wal_is_safe(sqlite_version()),
                "file": self.path,
                "size_bytes": ask("PRAGMA page_count").get * ask("PRAGMA page_size").get,
                "journal_mode": ask("PRAGMA journal_mode").get,
                "synchronous": {0: "off", 1: "normal", 2: "full", 3: "extra"}[ask("PRAGMA synchronous").get],
                "page_size": ask("PRAGMA page_size").get,
                "filesystem": filesystem_of(Path(self.path)),
            }

    def checkpoint(self) -> None:
        """Moves what is in the write-ahead log into the file."""
        with self._writer_lock, translated(self.path):
            self._usable_writer().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Closes every connection (in the process that opened them)."""
        if self._closed:
            return
        self._closed = True
        if self.is_carried:
            return  # the parent's connections must not be touched here
        with self._writer_lock:
            self._close_all()

    def borrow_reader(self) -> apsw.Connection:
        """An idle read connection, or a new one."""
        self._check_usable()
        with self._readers_lock:
            if self._readers:
                return self._readers.pop()
        with translated(self.path):
            return self._connect()

    def return_reader(self, connection: apsw.Connection) -> None:
        """Gives a read connection back."""
        with self._readers_lock:
            if not self._closed and len(self._readers) < _IDLE_READERS:
                self._readers.append(connection)
                return
        connection.close()

    def _copy_to(self, target: "Path", progress: Callable[[int, int], None] | None) -> None:
        with translated(self.path):
            source = self._connect()
            copy = apsw.Connection(str(target))
            try:
                # one snapshot: without it every commit of others would make the copy begin again
                source.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
                copy.execute("PRAGMA journal_mode=OFF")  # a copy that fails is removed, not rolled back
                _copy(copy, source, progress)
            except apsw.FullError:  # it is the copy that has no space, and SQLite does not say why
                raise OSError(ENOSPC, "no space left") from None
            finally:
                copy.close()
                source.close()

    def park(self) -> None:
        """Before a fork: closes every connection that is idle, and lets nobody open another one."""
        self._forks += 1
        if self._group.is_led_here():
            return  # in the middle of a commit (a signal handler?): the child can't open it
        for lock in (self._writer_lock, self._readers_lock, self._opening):
            if not lock.acquire(timeout=forking.PATIENCE_S):
                return  # the same
            self._held.append(lock.release)
        self._close_all()

    def unpark(self) -> None:
        """After a fork: whoever needs a connection opens one."""
        while self._held:
            self._held.pop()()

    def _close_all(self) -> None:
        others = [each for each in (*self._readers, self._listener, self._writer) if each is not self._last]
        for connection in [*others, self._last]:
            if connection is not None:
                with suppress(apsw.Error):
                    connection.close()
        self._readers.clear()
        self._listener = self._writer = self._last = None

    def _run(self, jobs: list[Job]) -> None:
        with self._writer_lock:
            self._run_all(jobs)

    def _run_all(self, jobs: list[Job]) -> None:
        connection = self._usable_writer()
        if connection.in_transaction:  # what was interrupted was not even rolled back
            self._drop_writer(connection)
            connection = self._usable_writer()
        tx = SqliteTx(connection)
        try:
            if len(jobs) > 1 and self._ran_without_savepoints(connection, tx, jobs):
                return
            tx.begin()
            if len(jobs) == 1:
                jobs[0].result = jobs[0].body(tx)
            else:
                for job in jobs:
                    self._run_in_savepoint(connection, tx, job)
            self._commit(connection, tx, jobs)
        except BaseException as problem:
            tx.end()
            self._stop_after_damage(connection, problem)
            if isinstance(problem, Exception) and (ours := as_ours(problem, self.path)) is not problem:
                raise ours from problem
            raise

    def _ran_without_savepoints(self, connection: apsw.Connection, tx: SqliteTx, jobs: list[Job]) -> bool:
        """The usual case, in which no body raises: savepoints would cost a tenth of the group."""
        tx.begin()
        try:
            for job in jobs:
                job.result = job.body(tx)
        except (apsw.IOError, apsw.CorruptError):
            raise
        except Exception:  # noqa: BLE001 - whoever it was: all bodies run again, each in a savepoint
            tx.begin_again()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return False
        self._commit(connection, tx, jobs)
        return True

    def _commit(self, connection: apsw.Connection, tx: SqliteTx, jobs: list[Job]) -> None:
        try:
            tx.commit()
        except KeyboardInterrupt:
            # Python delivers Ctrl-C when COMMIT returns: then it is done, and the others must know
            for job in jobs:
                job.is_kept = not connection.in_transaction
            raise

    def _run_in_savepoint(self, connection: apsw.Connection, tx: SqliteTx, job: Job) -> None:
        connection.execute("SAVEPOINT job")
        try:
            job.result = job.body(tx)
        except Exception as problem:
            if isinstance(problem, apsw.IOError | apsw.CorruptError) or not connection.in_transaction:
                raise  # not this body's fault (the disk, no space): nothing of the group is committed
            tx.begin_again()
            connection.execute("ROLLBACK TO job")
            job.error = as_ours(problem, self.path)
        connection.execute("RELEASE job")

    def _stop_after_damage(self, connection: apsw.Connection, problem: BaseException) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except apsw.Error as worse:
            problem = worse
        if isinstance(problem, apsw.IOError):
            # After a failed sync nobody knows what reached the disk: this connection never writes again.
            self._broken = StoreError(f"the disk under {self.path} reported an error; open the ledger again to go on")
            connection.close()
        elif isinstance(problem, apsw.BusyError):
            self._drop_writer(connection)  # another process; or something of ours that was interrupted is still open
        elif isinstance(problem, apsw.CorruptError):
            self._broken = StoreCorrupt(f"{self.path} is damaged ({problem}); writing has stopped")

    def _drop_writer(self, connection: apsw.Connection) -> None:
        """The next one who writes has a new connection."""
        self._writer = None
        connection.close(force=True)

    def _usable_writer(self) -> apsw.Connection:
        self._check_usable()
        if self._broken is not None:
            raise self._broken
        if self.readonly:
            raise ReadOnlyStore(f"{self.path} was opened read-only: open it for writing to change it")
        if self._writer is None:
            with self._readers_lock, translated(self.path):
                if self._writer is None:  # nobody else was faster
                    self._writer = self._connect(_WRITABLE, reads=False)
        return self._writer

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreClosed(f"the ledger {self.url} is closed: open it again")
        if self.is_carried:
            raise StoreClosed("a ledger can't be carried over a fork(): open it again in the child process")

    def _connect(self, flags: int = _READABLE, *, reads: bool = True) -> apsw.Connection:
        """A connection to the file that has the ledger's name when it is open.

        Between the opening of a file and its first lock `ldg restore` may put another file there. SQLite would use the
        log of the new file with the old one.
        """
        while True:
            before = _file_number(self.path)
            connection = self._open(flags, reads=reads)
            if _file_number(self.path) == before:
                return connection
            connection.close()

    def _open(self, flags: int, *, reads: bool) -> apsw.Connection:
        path = self.path
        if self._is_unchanging:  # SQLite would make two files beside it, to agree with others who write
            path = f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?immutable=1"
            flags |= apsw.SQLITE_OPEN_URI
        with self._opening:
            connection = apsw.Connection(path, flags=flags, statementcachesize=_STATEMENTS)
        try:
            _set_up(connection, reads=reads)
        except BaseException:  # a damaged file: an open connection would keep it in use
            connection.close()
            raise
        return connection


class _Read:
    """A snapshot on a borrowed read connection."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def __enter__(self) -> SqliteReadTx:
        self._connection = self._database.borrow_reader()
        try:
            with translated(self._database.path):
                self._connection.execute("BEGIN")
        except BaseException:
            self._connection.close()
            raise
        self._tx = SqliteReadTx(self._connection, self._database.path, self._database.on_damaged_text)
        return self._tx

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self._tx.end()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._database.return_reader(self._connection)


def create(path: str, build: Callable[[SqliteDatabase], object]) -> tuple[str, ...]:
    """Make a new ledger file; gives the new names of what a deleted ledger had left behind.

    Nothing else makes one: a connection never creates its file, which would be empty, and beside any log.
    """

    def fill(partial: "Path") -> None:
        database = SqliteDatabase(str(partial), readonly=False)
        try:
            build(database)
            prepare(database)
        finally:
            database.close()

    return make_whole(path, fill)


def prepare(database: Database) -> None:
    """The settings that live in the file: whose it is, and how it is written."""
    database.ask(f"PRAGMA application_id={APPLICATION_ID}")
    database.ask(f"PRAGMA journal_mode={_journal_mode()}")


def _journal_mode() -> str:
    return "wal" if wal_is_safe(sqlite_version()) else "delete"


def _file_number(path: str) -> int:
    """Which file has a name now; 0: none."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - one call
    except OSError:
        return 0


def _set_up(connection: apsw.Connection, *, reads: bool) -> None:
    connection.set_busy_timeout(BUSY_MS)
    # Plans that do not depend on bound values: otherwise SQLite compiles every statement anew that touches a table
    # with a partial index, each time it is run (the children of a turn: 131 µs instead of 7).
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    # In WAL mode EXTRA is FULL. Without WAL (an old file, an SQLite whose WAL is unsafe) a commit removes the journal,
    # and only EXTRA then syncs the folder: with FULL a power cut can bring the journal back and undo the commit.
    connection.execute(
        "PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; "
        "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY"
    )
    if reads:
        # a search and the next page of it want the same pages: twice as fast with 8 MB as with the usual 2
        connection.execute("PRAGMA query_only=ON; PRAGMA cache_size=-8192")
        sqlite_rank.register(connection)
    else:
        # the writer's cache holds a batch: pages that do not fit are written twice
        connection.execute(
            "PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=1000; PRAGMA journal_size_limit=67108864"
        ).fetchall()  # the last two give rows: what stands behind one is run when it is fetched


def _copy(copy: apsw.Connection, source: apsw.Connection, progress: Callable[[int, int], None] | None) -> None:
    with copy.backup("main", source, "main") as job:
        while not job.done:
            job.step(2048)
            if progress:
                progress(job.page_count - job.remaining, job.page_count)
