"""A ledger in a PostgreSQL database, through psycopg 3."""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from agents_ledger.errors import (
    BadInput,
    Conflict,
    LedgerError,
    ReadOnlyStore,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from agents_ledger.store.database import SEALED, Database, Row, Tx, sealed, without_password
from agents_ledger.store.files import Copy, make_copy, put_plain, settle
from agents_ledger.store.group import GroupCommit, Job
from agents_ledger.store.statements import statements

try:
    import psycopg
    from psycopg import errors as pg
except ImportError as missing:
    raise StoreUnreachable("PostgreSQL needs an extra: pip install 'agents-ledger[postgres]'") from missing

from agents_ledger.store.postgres_query import AnyText, read_only
from agents_ledger.store.postgres_reader import NO_GRANTS_BUT_OURS

T = TypeVar("T")
# One writer at a time, as in SQLite: the log's numbers have no gaps, and heads, segments and seals are decided
# without races. Threads of one process share commits, so this costs little.
_WRITER_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/agents-ledger', 0))"
_IDLE_READERS = 8
_IDLE = psycopg.pq.TransactionStatus.IDLE
_PREPARED = 1000  # more than there are statements: none is parsed again because another one came
# One question for all of it. The faces' own names (agent_sessions, events …) are found after the ledger's; to compile
# a plan takes longer than any of ours runs.
_SESSION = (
    "SET synchronous_commit = on; SET jit = off; "
    "SELECT set_config('search_path', current_setting('search_path') || ', mnemonic, events', FALSE)"
)
# After five uses of a prepared statement the server may take a plan that fits no value in particular: for a word that
# is rare or common, or a filter that is absent, that plan was 10 to 30 times slower. Planning anew costs a reader
# 0.02 to 1 ms a statement. The writer looks up keys, for which the general plan is as good.
_READER = f"{_SESSION}; SET plan_cache_mode = force_custom_plan"


class PostgresTx(Tx):
    """A transaction on one connection in pipeline mode: only questions wait for the server.

    Each question has a cursor of its own. The driver hands an answer to the cursor that asked, whenever it arrives: on
    a shared cursor the late answer to an INSERT would stand where the next SELECT looks for its rows. Statements share
    one (to make a cursor takes 5 µs): nobody reads their answers there, and their errors are raised in any case.

    Every statement is prepared when it is first used: then psycopg looks at its result, and forgets one that the
    server skipped after an error. One that is prepared at its sixth use it would take for known.
    """

    def __init__(self, connection: "psycopg.Connection[Row]") -> None:
        self._connection = connection
        self._statements = connection.cursor()
        self._known = statements("postgres").made

    def run(self, name: str, /, **params: Any) -> None:
        """Runs a statement."""
        statement = self._known[name]
        self._statements.execute(_sql(statement.sql), statement.bind(params), prepare=True)

    def run_all(self, name: str, values: Iterable[object]) -> None:
        """Runs a statement once for each value."""
        statement = self._known[name]
        self._statements.executemany(_sql(statement.sql), [statement.bind_value(value) for value in values])

    def each(self, name: str, /, **params: Any) -> Iterator[Row]:
        """The rows of a query (a pipeline has no cursors on the server: they come at once)."""
        return iter(self.rows(name, **params))

    def rows(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a query."""
        statement = self._known[name]
        return self._cursor().execute(_sql(statement.sql), statement.bind(params), prepare=True).fetchall()

    def _cursor(self) -> "psycopg.Cursor[Row]":
        return self._connection.cursor()


class PostgresReadTx(PostgresTx):
    """A snapshot."""

    def __init__(self, connection: "psycopg.Connection[Row]", on_damaged_text: Callable[[], None] | None) -> None:
        super().__init__(connection)
        self.on_damaged_text = on_damaged_text
        self._takes_any_text = False

    def rows(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a query; a server checks texts that come in, and gives out what its disk has made of them."""
        try:
            return super().rows(name, **params)
        except UnicodeDecodeError:
            if self.on_damaged_text is None:
                raise
            self.on_damaged_text()
            self._takes_any_text = True
            return super().rows(name, **params)

    def _cursor(self) -> "psycopg.Cursor[Row]":
        cursor = super()._cursor()
        if self._takes_any_text:
            cursor.adapters.register_loader("text", AnyText)
        return cursor


class PostgresDatabase(Database):
    """A database on a server: one connection that writes, and readers beside it."""

    dialect = "postgres"

    def __init__(self, url: str, *, readonly: bool) -> None:
        self.dsn = url
        self.url = without_password(url)
        self.readonly = readonly
        self._pid = os.getpid()
        self._closed = False
        self._readers: list[psycopg.Connection[Row]] = []
        self._listener: psycopg.Connection[Row] | None = None
        self._writer_lock, self._readers_lock = threading.RLock(), threading.RLock()
        self._group = GroupCommit(self._run)
        self._writer = self._connect()

    @contextmanager
    def read(self) -> Iterator[Tx]:
        """One snapshot."""
        self._check_usable()
        connection = self._idle_reader() or self._connect(_READER)
        try:
            with self._translated(), connection.pipeline():
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", prepare=True)
                yield PostgresReadTx(connection, self.on_damaged_text)
                connection.execute("COMMIT", prepare=True)  # after a ROLLBACK psycopg forgets what it prepared
        finally:
            self._give_back(connection)

    def write(self, body: Callable[[Tx], T]) -> T:
        """A durable transaction."""
        self._check_usable()
        if self.readonly:
            raise ReadOnlyStore(f"{self.url} was opened read-only: open it for writing to change it")
        return self._group.submit(body)

    def tables(self) -> set[str]:
        """The tables that are there."""
        return {name for (name,) in self.ask("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")}

    def ask(self, sql: str) -> list[Row]:
        """The rows of a query about the database itself."""
        with self._writer_lock, self._translated():
            return self._usable_writer().execute(_sql(sql)).fetchall()

    def stream(self, sql: str) -> Iterator[Row]:
        """The same, row by row, on a connection of its own."""
        self._check_usable()
        connection = self._connect(_READER)
        try:
            with self._translated(), connection.transaction(), connection.cursor(name="stream") as cursor:
                yield from cursor.execute(_sql(sql))
        finally:
            connection.close()

    def migrate(self, prelude: str, name: str, script: str) -> None:
        """A migration, unless it is there already."""
        with self._writer_lock, self._translated():
            writer = self._usable_writer()
            with writer.transaction():
                writer.execute(_WRITER_LOCK)
                writer.execute(_sql(prelude))
                if not writer.execute("SELECT 1 FROM ledger_migrations WHERE name = %s", (name,)).fetchone():
                    writer.execute(_sql(script))

    def query(
        self, sql: str, *, limit: int | None = None, timeout_s: float | None = None
    ) -> tuple[list[str], list[Row]]:
        """Somebody's own SQL, in a transaction that reads, one statement at a time."""
        self._check_usable()
        connection = self._connect()
        try:
            with self._translated("the query"):
                return read_only(connection, sql, limit, timeout_s, self.on_damaged_text)
        finally:
            connection.close()

    def check(self) -> list[str]:
        """Nothing to ask: constraints are always on, and pages are checked when they are read (see `doctor`)."""
        return []

    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> Copy:
        """`pg_dump` in its custom format, into a new file that appears only when `pg_restore` can read all of it."""
        del progress  # pg_dump does not say how far it is
        program = shutil.which("pg_dump")
        if program is None:
            raise StoreUnreachable("pg_dump is not installed: install PostgreSQL's client programs, then try again")
        # of the same version: an older one can't read what this one writes
        reader = shutil.which("pg_restore", path=str(Path(program).parent)) or shutil.which("pg_restore")
        if reader is None:
            raise StoreUnreachable("pg_restore is not installed: install PostgreSQL's client programs, then try again")

        def fill(partial: Path) -> None:
            self._dump(program, partial)
            settle(partial)
            _check_dump(reader, partial)

        return make_copy(target, fill, put_plain)

    def _dump(self, program: str, partial: Path) -> None:
        parts = urlsplit(self.dsn)
        secret = {"PGPASSWORD": unquote(parts.password)} if parts.password else {}
        bare = (
            urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", "@"))) if secret else self.dsn
        )
        command = [program, "--format=custom", f"--file={partial}", f"--dbname={bare}"]
        if self.ask(NO_GRANTS_BUT_OURS)[0][0]:  # another server has no such role, and need not
            command.append("--no-privileges")
        done = subprocess.run(  # noqa: S603 - our own words; the password is not among them
            command, capture_output=True, text=True, check=False, env={**os.environ, **secret}
        )
        if done.returncode:
            hint = ": install client programs of the server's version" if "mismatch" in done.stderr else ""
            raise StoreError(f"pg_dump failed ({done.stderr.strip()}){hint}")

    def pulse(self) -> int:
        """The next transaction number: another one after any commit on the server."""
        self._check_usable()
        with self._translated():
            if self._listener is None or not _is_idle(self._listener):
                self._listener = self._connect()
            found = self._listener.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::TEXT::BIGINT").fetchone()
        return 0 if found is None else int(found[0])

    def facts(self) -> dict[str, Any]:
        """What `doctor` shows."""
        questions = {
            "version": "SHOW server_version",
            "synchronous_commit": "SHOW synchronous_commit",
            "fsync": "SHOW fsync",
            "data_checksums": "SHOW data_checksums",
            "is_replica": "SELECT pg_is_in_recovery()",
            "size_bytes": "SELECT pg_database_size(current_database())",
            "schema": "SELECT current_schema()",
        }
        with self._writer_lock, self._translated():
            writer = self._usable_writer()
            answers = {name: writer.execute(_sql(sql)).fetchone() for name, sql in questions.items()}
        return {
            "engine": "PostgreSQL",
            "psycopg": psycopg.__version__,
            **{name: answer[0] if answer else None for name, answer in answers.items()},
        }

    def close(self) -> None:
        """Closes every connection (in the process that opened them)."""
        if self._closed:
            return
        self._closed = True
        if self.is_carried:
            return  # the socket is the parent's too
        listening = [] if self._listener is None else [self._listener]
        with self._writer_lock:  # a commit that is under way comes to its end
            for connection in [*self._readers, *listening, self._writer]:
                with suppress(psycopg.Error):
                    connection.close()
            self._readers.clear()

    def _run(self, jobs: list[Job]) -> None:
        with self._writer_lock:
            self._run_all(jobs)

    def _run_all(self, jobs: list[Job]) -> None:
        connection = self._usable_writer()
        with self._translated():
            try:
                with connection.pipeline() as pipeline:
                    # whatever the server's default is: a snapshot of before the wait for the lock would be of no use
                    connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED", prepare=True)
                    connection.execute(_WRITER_LOCK, prepare=True)
                    for job in jobs:
                        self._run_job(connection, pipeline, job, alone=len(jobs) == 1)
                    connection.execute("COMMIT", prepare=True)
            except BaseException:
                with suppress(psycopg.Error):  # what can't be rolled back is not used again
                    if not connection.closed and not connection.broken:
                        connection.execute("ROLLBACK")
                raise

    def _run_job(
        self, connection: "psycopg.Connection[Row]", pipeline: psycopg.Pipeline, job: Job, *, alone: bool
    ) -> None:
        if alone:
            job.result = job.body(PostgresTx(connection))
            return
        connection.execute("SAVEPOINT job", prepare=True)
        try:
            with self._translated():
                job.result = job.body(PostgresTx(connection))
                pipeline.sync()  # what is still under way must not fail later, for somebody else
        except Exception as problem:
            _get_in_step(connection, pipeline)
            if connection.closed or connection.broken:
                raise
            connection.execute("ROLLBACK TO SAVEPOINT job")
            pipeline.sync()
            job.error = problem
        # Not prepared: after a rollback psycopg drops all that is prepared, behind the statement that comes next.
        connection.execute("RELEASE SAVEPOINT job", prepare=False)

    def _usable_writer(self) -> "psycopg.Connection[Row]":
        self._check_usable()
        if not _is_idle(self._writer):
            # What was acknowledged is on the server; a new connection goes on from there.
            with suppress(psycopg.Error):
                self._writer.close()
            self._writer = self._connect()
        return self._writer

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreClosed(f"the ledger {self.url} is closed: open it again")
        if self.is_carried:
            raise StoreClosed("a ledger can't be carried over a fork(): open it again in the child process")

    def _idle_reader(self) -> "psycopg.Connection[Row] | None":
        """One that is there already, without those that the server has ended meanwhile."""
        with self._readers_lock:
            while self._readers:
                connection = self._readers.pop()
                if _is_idle(connection):
                    return connection
                with suppress(psycopg.Error):
                    connection.close()
        return None

    def _give_back(self, connection: "psycopg.Connection[Row]") -> None:
        if not connection.closed and not connection.broken:
            if connection.info.transaction_status != _IDLE:
                connection.execute("ROLLBACK")
            with self._readers_lock:
                if not self._closed and len(self._readers) < _IDLE_READERS:
                    self._readers.append(connection)
                    return
        connection.close()

    def _connect(self, session: LiteralString = _SESSION) -> "psycopg.Connection[Row]":
        with self._translated():
            connection = psycopg.connect(self.dsn, autocommit=True, connect_timeout=15, client_encoding="UTF8")
            connection.prepared_max = _PREPARED
            connection.execute(session)
            return connection

    @contextmanager
    def _translated(self, what: str = "") -> Iterator[None]:  # noqa: C901, PLR0912 - one case for each error
        """Errors of PostgreSQL as ours, with its own words and what to do next."""
        try:
            yield
        except LedgerError:
            raise
        except pg.DiskFull as problem:
            raise StoreFull(
                f"no space left on the server of {self.url}: nothing of this was written; free some and try again"
            ) from problem
        except (pg.LockNotAvailable, pg.DeadlockDetected, pg.SerializationFailure) as problem:
            raise StoreBusy(f"{self.url} is busy ({problem}): try again") from problem
        except pg.ReadOnlySqlTransaction as problem:
            raise ReadOnlyStore(f"only reading is allowed here ({problem})") from problem
        except pg.QueryCanceled as problem:
            raise BadInput(f"{what or 'the statement'} took too long and was stopped") from problem
        except pg.InsufficientPrivilege as problem:
            raise ReadOnlyStore(f"{self.url}: {problem}: ask for the right to write, or open read-only") from problem
        except (pg.DataCorrupted, pg.IndexCorrupted) as problem:
            raise StoreCorrupt(f"{self.url} is damaged ({problem}): restore a backup with `pg_restore`") from problem
        except pg.ProgramLimitExceeded as problem:
            raise BadInput("a value is larger than a database row can be (1 GB): split it") from problem
        except pg.UniqueViolation as problem:
            told = problem.diag.message_primary
            raise Conflict(f"it is there already ({told}): give the new one another id or key") from problem
        except pg.CheckViolation as problem:
            raise BadInput(f"a value is not one of those allowed ({problem.diag.message_primary})") from problem
        except UnicodeDecodeError as problem:
            raise StoreCorrupt(
                f"a text in {self.url} is damaged ({problem}): restore a backup with `pg_restore`; "
                "`ldg verify` names the row"
            ) from problem
        except (psycopg.DataError, UnicodeEncodeError) as problem:
            raise BadInput(
                f"{problem}: pass text without NUL or lone surrogates, numbers of at most 64 bits"
            ) from problem
        except psycopg.OperationalError as problem:
            raise StoreUnreachable(f"{self.url} {_why_not(str(problem))}") from problem
        except psycopg.Error as problem:
            if what:
                raise BadInput(str(problem)) from problem
            if problem.diag.message_primary == SEALED:
                raise sealed() from problem
            raise StoreError(
                f"{self.url} refused a statement ({problem}): see what `ldg verify` finds; "
                "if nothing, this is a bug: report it"
            ) from problem


def _check_dump(program: str, partial: Path) -> None:
    """Read a whole dump without a server."""
    done = subprocess.run(  # noqa: S603 - our own words
        [program, "--file=-", str(partial)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise StoreError(f"pg_restore can't read what pg_dump wrote ({done.stderr.strip()}): there is no backup")


def _is_idle(connection: "psycopg.Connection[Row]") -> bool:
    """Whether a connection waits for something to do: it was not interrupted, and the server is still there."""
    if connection.closed or connection.broken or connection.info.transaction_status != _IDLE:
        return False
    if connection.info.pipeline_status != psycopg.pq.PipelineStatus.OFF:
        return False
    try:
        connection.pgconn.consume_input()  # it does not wait; the first may take the server's last words
        connection.pgconn.consume_input()
    except psycopg.Error:
        return False
    return True


def _get_in_step(connection: "psycopg.Connection[Row]", pipeline: psycopg.Pipeline) -> None:
    """After an error a pipeline takes nothing until a sync, and each answer that was skipped is an error again."""
    while not connection.closed and not connection.broken:
        with suppress(psycopg.Error):
            pipeline.sync()
            return


def _why_not(told: str) -> str:
    """Why there is no connection, and what to do."""
    if 'database "' in told and "does not exist" in told:
        return f"is not there ({told}): make it with `createdb`, or name another database"
    if "FATAL" in told:
        return f"refuses ({told}): look at the user, the password and the database in the URL"
    return f"does not answer ({told}): is the server running?"


def _sql(text: str) -> LiteralString:
    """Our own statements, from the `.sql` files, to a driver that asks for literals."""
    return text
