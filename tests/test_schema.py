"""The schema: migrations lead to it, rows mirror it, every statement fits it, and opening never harms it."""

import re
import stat
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, cast

import apsw
import psycopg
import pytest
from msgspec import Struct

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import LedgerError, StoreError
from agents_ledger.model import rows
from agents_ledger.store import guards, open_database, sqlite_rank
from agents_ledger.store.migrate import Migration, apply, checksum_of, migrate, migrations, pending
from agents_ledger.store.sqlite import APPLICATION_ID, wal_is_safe
from agents_ledger.store.statements import Dialect, schema_script, sql_folder, statements
from tests.crash.processes import run_all
from tests.support.databases import PostgresServer

CATALOG = {
    "columns": "SELECT table_schema || '.' || table_name, ordinal_position, column_name, data_type, collation_name, "
    "is_nullable, column_default FROM information_schema.columns "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2",
    "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
    "triggers": "SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), tgenabled FROM pg_trigger "
    "WHERE NOT tgisinternal ORDER BY 1, 2",
    "views": "SELECT schemaname || '.' || viewname, definition FROM pg_views "
    "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1",
    "functions": "SELECT proname, pg_get_functiondef(oid) FROM pg_proc "
    "WHERE pronamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2",
    "facts": "SELECT name, value FROM ledger_facts WHERE name <> 'ledger_id' ORDER BY 1",  # each has its own
}
# A row's type, and the statement that reads it (with the columns that stand before the row's own).
READ_BY: dict[type[Struct], tuple[str, int]] = {
    rows.TurnRow: ("turn_by_id", 0),
    rows.MessageRow: ("messages_of", 0),
    rows.CallRow: ("calls_of", 0),
    rows.CompactionRow: ("compactions_of", 0),
    rows.FileRow: ("files_of", 1),
    rows.LintRow: ("lints_of", 1),
    rows.CodeBlockRow: ("codeblocks_of", 1),
    rows.OriginalRow: ("originals_of", 0),
    rows.UsageRow: ("usages_of", 0),
    rows.SessionRow: ("all_sessions", 0),
    rows.MoveRow: ("moves_of", 0),
    rows.AliasRow: ("all_aliases", 0),
    rows.LogRow: ("log_page", 0),
    rows.LeaseRow: ("all_leases", 0),
    rows.SaveRow: ("save_by_id", 0),
    rows.WrittenRow: ("all_written_sessions", 0),
}


def sqlite_schema(file: apsw.Connection) -> dict[str, str]:
    found = file.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'ledger_migrations%'")
    return {
        # without spaces: a column that was added later stands a little differently
        name: "".join(re.sub(r"--[^\n]*", "", sql or "").split())
        for name, sql in found
        if "autoindex" not in name
    }


def migrated(url: str) -> str:
    """An empty database, brought up to date as an old one is: step by step."""
    if url.startswith("sqlite:///"):
        Path(url.removeprefix("sqlite:///")).touch()
    database = open_database(url, readonly=False)
    for step in pending(database):
        apply(database, step)
    database.close()
    return url


def test_migrations_and_the_schema_give_the_same_sqlite_file(tmp_path: Path) -> None:
    def asked(url: str) -> tuple[dict[str, str], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        file = apsw.Connection(url.removeprefix("sqlite:///"))
        steps = file.execute("SELECT name, checksum FROM ledger_migrations ORDER BY name").fetchall()
        found = sqlite_schema(file), file.execute(CATALOG["facts"]).fetchall(), steps
        file.close()
        return found

    expected = asked(migrated(f"sqlite:///{tmp_path / 'migrated.db'}"))
    assert len(expected[0]) > 80
    Ledger.open(f"sqlite:///{tmp_path / 'new.db'}").close()
    assert asked(f"sqlite:///{tmp_path / 'new.db'}") == expected


def test_migrations_and_the_schema_give_the_same_postgres_database(server: PostgresServer) -> None:
    def asked(url: str) -> dict[str, list[tuple[Any, ...]]]:
        steps = {"steps": "SELECT name, checksum FROM ledger_migrations ORDER BY name"}
        with psycopg.connect(url) as connection:
            return {name: connection.execute(sql.encode()).fetchall() for name, sql in (CATALOG | steps).items()}

    expected = asked(migrated(server.bare_url()))
    assert all(expected.values())
    new = server.bare_url()
    Ledger.open(new).close()
    assert asked(new) == expected


@pytest.mark.parametrize("way", ["new", "migrated"])
def test_the_scripts_name_exactly_the_triggers_and_views_that_are_there(
    engine: str, way: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = bare(engine, tmp_path, request)
    with Ledger.open(migrated(url) if way == "migrated" else url) as ledger:
        assert_nothing_is_lost(ledger)


def assert_nothing_is_lost(ledger: Ledger) -> None:
    """What `verify` expects is what is there: no more, no less."""
    with ledger.database.read() as tx:
        there = {tuple(row[:3]) for row in tx.rows("triggers_and_views")}
    expected = guards.made(cast("Dialect", ledger.database.dialect))
    assert set(expected) == there
    assert {kind for kind, _, _ in expected} == {"trigger", "view"}
    assert guards.lost(ledger.database) == []


def test_every_row_has_the_columns_of_its_table_in_their_order(ledger: Ledger) -> None:
    known = statements(cast("Dialect", ledger.database.dialect))
    for kind, (name, before) in READ_BY.items():
        sql = re.sub(r"%s|(?<!:):[a-z_]+", "NULL", known[name].sql).replace("LIMIT NULL", "LIMIT 0")
        names, _ = ledger.database.query(sql)
        assert names[before:] == list(kind.__struct_fields__), name
    for kind, table, without in (
        (rows.TurnRow, "turns", set[str]()),
        (rows.MessageRow, "messages", {"n"}),
        (rows.CallRow, "tool_calls", {"n"}),
        (rows.FileRow, "message_files", {"id"}),
        (rows.LintRow, "message_lints", {"id"}),
        (rows.CodeBlockRow, "message_codeblocks", {"id"}),
        (rows.OriginalRow, "originals", set()),
        (rows.UsageRow, "usages", set()),
        (rows.MoveRow, "session_history", set()),
        (rows.LogRow, "log", set()),
        (rows.SaveRow, "saves", set()),
    ):
        names, _ = ledger.database.query(f"SELECT * FROM {table}")  # noqa: S608
        assert [name for name in names if name not in without] == list(kind.__struct_fields__), table


def test_every_statement_can_be_prepared(url: str) -> None:
    Ledger.open(url).close()
    if url.startswith("postgresql"):
        with psycopg.connect(url) as server:
            for name, statement in statements("postgres").items():
                numbers = iter(range(1, 100))
                sql = re.sub(r"%s", lambda _: f"${next(numbers)}", statement.sql).replace("%%", "%")  # noqa: B023
                server.execute(f"PREPARE {name} AS {sql}".encode())
        return
    file = apsw.Connection(url.removeprefix("sqlite:///"))
    sqlite_rank.register(file)
    for statement in statements("sqlite").values():
        file.execute(f"EXPLAIN {statement.sql}", dict.fromkeys(statement.names))
    file.close()


def test_which_sessions_left_a_turn_is_asked_of_the_few_moves_that_did(tmp_path: Path) -> None:
    """Not of the whole history: with 20,000 moves that took twenty times as long."""
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.append("main", Turn((Message("user", "Hi."),)))
    file = apsw.Connection(str(tmp_path / "ledger.db"))
    asked = statements("sqlite")["sessions_including"]
    plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {asked.sql}", dict.fromkeys(asked.names))]
    file.close()
    assert [step for step in plan if "history" in step] == ["SCAN session_history USING INDEX idx_session_history_left"]


def test_both_engines_know_the_same_statements_with_the_same_parameters() -> None:
    sqlite, postgres = statements("sqlite"), statements("postgres")
    assert {name: set(each.names) for name, each in sqlite.items()} == {
        name: set(each.names) for name, each in postgres.items()
    }


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_statement_has_a_name_of_its_own(dialect: Dialect) -> None:
    """Of two with the same name the second would be run for both."""
    other = "postgres" if dialect == "sqlite" else "sqlite"
    files = [path for path in sql_folder().joinpath("queries").glob("*.sql") if path.suffixes[0] != f".{other}"]
    marks = [mark for path in files for mark in re.findall(r"(?m)^-- (name|fragment): (\w+)$", path.read_text())]
    assert [mark for mark, count in Counter(marks).items() if count > 1] == []
    assert set(statements(dialect)) == {name for kind, name in marks if kind == "name"}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_the_checksums_of_all_migrations_are_written_down(dialect: Dialect) -> None:
    folder = sql_folder().joinpath("migrations")
    names = sorted({path.name.split(".")[0] for path in folder.glob("*.sql")})
    # of a new one: the line for `checksums.txt` is its name, then what this gives for SQLite and for PostgreSQL
    computed = [(name, checksum_of(schema_script(name, dialect, folder))) for name in names]
    assert [(step.name, step.checksum) for step in migrations(dialect)] == computed


def test_a_migration_that_was_changed_is_not_run() -> None:
    with pytest.raises(StoreError, match="not as it was released"):
        _ = Migration("20261115_heart", "other", "sqlite").script


def test_migrating_again_does_nothing(url: str) -> None:
    with Ledger.open(url) as ledger:
        before = ledger.database.ask("SELECT name, checksum, applied_at FROM ledger_migrations")
        assert pending(ledger.database) == []
        assert migrate(ledger.database) == []
        # as if two processes had both found it pending
        step = migrations(cast("Dialect", ledger.database.dialect))[0]
        ledger.database.migrate("SELECT 1;", step.name, step.script)
        assert ledger.database.ask("SELECT name, checksum, applied_at FROM ledger_migrations") == before


def test_reading_never_changes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        turn_id = ledger.append("main", Turn(messages=(Message("user", "hello"),)))
    before = sha256(path.read_bytes()).digest()
    with Ledger.open(f"sqlite:///{path}", readonly=True) as ledger:
        assert ledger.verify().is_good
        assert ledger.context(turn_id).turns[0].messages[0].content == "hello"
    assert sha256(path.read_bytes()).digest() == before
    # SQLite leaves the empty files of a reader behind; the next writer takes them away
    assert {left.name for left in tmp_path.iterdir() if left.stat().st_size} <= {"ledger.db", "ledger.db-shm"}
    Ledger.open(f"sqlite:///{path}").close()
    assert [left.name for left in tmp_path.iterdir()] == ["ledger.db"]


def test_an_old_file_opened_read_only_is_not_migrated(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.open(f"sqlite:///{path}").close()
    with apsw.Connection(str(path)) as file:
        file.execute("DELETE FROM ledger_migrations")
    file.close()
    before = sha256(path.read_bytes()).digest()
    with pytest.raises(LedgerError, match="ldg migrate"):
        Ledger.open(f"sqlite:///{path}", readonly=True)
    assert sha256(path.read_bytes()).digest() == before


def bare(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A ledger that is not there yet."""
    if engine == "sqlite":
        return f"sqlite:///{tmp_path / 'new.db'}"
    return str(request.getfixturevalue("server").bare_url())


def test_threads_that_make_the_same_ledger_at_once_all_get_it(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, count = bare(engine, tmp_path, request), 6
    barrier, turns = Barrier(count), list[str]()

    def work(number: int) -> None:
        barrier.wait()
        with Ledger.open(url) as ledger:
            turns.append(ledger.append(f"session-{number}", Turn(messages=(Message("user", "x"),))))

    threads = [Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(turns) == count
    with Ledger.open(url) as ledger:
        assert {ledger.get(turn_id).turn.id for turn_id in turns} == set(turns)
        assert ledger.counts()["sessions"] == count
        assert ledger.verify().is_good


def test_processes_that_make_the_same_ledger_at_once_all_get_it(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = bare(engine, tmp_path, request)

    def maker(number: int) -> Callable[[int], None]:
        def work(_: int) -> None:
            with Ledger.open(url) as ledger:
                ledger.append(f"session-{number}", Turn(messages=(Message("user", "x"),)))

        return work

    assert run_all([maker(number) for number in range(4)]) == []
    with Ledger.open(url) as ledger:
        assert ledger.counts()["sessions"] == 4
        assert ledger.verify().is_good
    assert [left.name for left in tmp_path.iterdir() if left.suffix != ".db"] == []


def test_a_new_file_is_private_in_wal_mode_and_says_whose_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.append("main", Turn(messages=(Message("user", "secret"),)))
        modes = {left.name: stat.S_IMODE(left.stat().st_mode) for left in tmp_path.iterdir()}
        assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
        assert ledger.database.ask("PRAGMA journal_mode") == [("wal",)]
        assert ledger.database.ask("PRAGMA synchronous") == [(3,)]  # extra
    header = path.read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID
    assert bytes.fromhex(f"{APPLICATION_ID:x}") == b"ldg1"


@pytest.mark.parametrize(
    ("version", "is_safe"),
    [
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 0), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_wal_is_used_only_where_it_is_safe(version: tuple[int, ...], is_safe: bool) -> None:
    assert wal_is_safe(version) is is_safe


def test_an_empty_database_is_opened_without_being_touched(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    database = open_database(f"sqlite:///{tmp_path / 'empty.db'}", readonly=True)
    assert database.tables() == set()
    database.close()
    assert (tmp_path / "empty.db").stat().st_size == 0
