"""Somebody's own SQL on PostgreSQL, by a user who may do more than read: it reads the ledger, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import LedgerError, ReadOnlyStore
from agents_ledger.store.postgres import PostgresDatabase
from agents_ledger.store.postgres_reader import NO_GRANTS_BUT_OURS
from tests.support.databases import PostgresServer

ROLE = "agents_ledger_reader_public"
# What the superuser may do by a query. `{file}` is a file that the server could write.
REFUSED = {
    "read a file": "SELECT pg_read_file('postgresql.conf')",
    "read a binary file": "SELECT pg_read_binary_file('PG_VERSION')",
    "list a folder": "SELECT * FROM pg_ls_dir('.')",
    "import a large object": "SELECT lo_import('/etc/passwd')",
    "export a large object": "SELECT lo_export(1, '{file}')",
    "run a program": "COPY (SELECT 1) TO PROGRAM 'touch {file}'",
    "copy into a file": "COPY (SELECT 1) TO '{file}'",
    "make a replication slot": "SELECT pg_create_logical_replication_slot('slot', 'test_decoding')",
    "make a physical slot": "SELECT pg_create_physical_replication_slot('slot')",
    "reload the configuration": "SELECT pg_reload_conf()",
    "end other sessions": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
    "cancel other queries": "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
    "connect to itself": "SELECT * FROM dblink('dbname=' || current_database(), 'SELECT 1') AS d(x INT)",
    "read passwords": "SELECT rolname, rolpassword FROM pg_authid",
    "read another schema": "SELECT * FROM others.secrets",
    "block": "DO $$ BEGIN PERFORM pg_reload_conf(); END $$",
    "become the user again": "SET ROLE postgres",
    "become the user again by RESET": "RESET ROLE",
    "become the user again by set_config": "SELECT set_config('role', 'none', TRUE), set_config('role', 'none', FALSE)",
    "become the user by session_authorization": "SELECT set_config('session_authorization', 'default', FALSE)",
    "become the user, then run a text": (
        "SELECT * FROM (SELECT set_config('role', 'none', TRUE) OFFSET 0) a, "
        "LATERAL query_to_xml('SELECT pg_read_file(''PG_VERSION'')' || left(a.set_config, 0), TRUE, TRUE, '') b"
    ),
    "run a text": "SELECT query_to_xml('SELECT pg_read_file(''PG_VERSION'')', TRUE, TRUE, '')",
    "run a text that becomes the user": (
        "SELECT query_to_xml('SELECT set_config(''role'', ''none'', TRUE)', TRUE, TRUE, '')"
    ),
    "close the function's cursor by a second statement": "SELECT 1; RESET ROLE; SELECT pg_read_file('PG_VERSION')",
    "end the function's text": "SELECT 1 $ask$; RESET ROLE; SELECT pg_read_file('PG_VERSION')",
    "write": "WITH gone AS (DELETE FROM log RETURNING seq) SELECT * FROM gone",
    "write after all": "SELECT query_to_xml('DELETE FROM log', TRUE, TRUE, '')",
    "make it writable": "SELECT set_config('transaction_read_only', 'off', FALSE)",
    "count on": "SELECT nextval('others.numbers')",
    "explain what runs": "EXPLAIN ANALYZE SELECT pg_reload_conf()",
}


@pytest.fixture(scope="module")
def told(server: PostgresServer) -> Iterator[Ledger]:
    """A ledger of the server's superuser, beside a schema that is none of its business."""
    url = server.new_url()
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE EXTENSION dblink; CREATE SCHEMA others; CREATE SEQUENCE others.numbers")
        admin.execute("CREATE TABLE others.secrets AS SELECT 'secret' AS word")
    with Ledger.open(url) as ledger:
        ledger.append("main", Turn((Message("user", "hello"), Message("assistant", 'well, "quoted" (and) \\ so'))))
        yield ledger


def ask(ledger: Ledger, sql: str) -> list[tuple[object, ...]]:
    return ledger.database.query(sql)[1]


@pytest.mark.parametrize("sql", REFUSED.values(), ids=list(REFUSED))
def test_a_superuser_can_do_nothing_but_read_the_ledger(told: Ledger, sql: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)  # the server may run as another user
    slots = "SELECT count(*) FROM pg_replication_slots"
    before = told.database.ask("SELECT pg_conf_load_time()")
    with pytest.raises(LedgerError):
        ask(told, sql.replace("{file}", str(tmp_path / "made")))
    assert not (tmp_path / "made").exists()
    assert told.database.ask("SELECT pg_conf_load_time()") == before
    assert told.database.ask(slots) == [(0,)]
    assert told.append("main", Turn((Message("user", "still here"),))), "no session was ended"
    assert told.verify().is_good


def test_every_table_and_view_of_the_ledger_can_be_read(told: Ledger) -> None:
    relations = told.database.ask(
        "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname = current_schema() UNION ALL "
        "SELECT schemaname || '.' || viewname FROM pg_views WHERE schemaname IN "
        "(current_schema(), 'faces', 'mnemonic', 'events', 'aix', 'agent_os')"
    )
    assert len(relations) > 40
    for (name,) in relations:
        found, wanted = ask(told, f"SELECT * FROM {name}"), told.database.ask(f"SELECT * FROM {name}")  # noqa: S608
        assert sorted(map(repr, found)) == sorted(map(repr, wanted)), name


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT label FROM sessions -- the end",
        "SELECT content, NULL AS a, '' AS b, ' ' AS c, 'NULL' AS d FROM messages ORDER BY sequence;",
        "SELECT id, leaf, turn_hash FROM turns, log",
        "SELECT 1::INT2, 2::BIGINT, 1.5::NUMERIC, 0.1::FLOAT8, TRUE, FALSE, NULL::BOOL, 'x'::CHAR(3), 'n'::NAME",
        "SELECT now() - now(), DATE '2026-11-01', TIMESTAMPTZ '2026-11-01 10:00Z', UUID '" + "0" * 32 + "'",
        "SELECT ARRAY[1,2,NULL], ARRAY['a,b', '\"', NULL, ''], '{\"a\": [1, \"x\"]}'::JSONB, '\\x00ff'::BYTEA",
        "SELECT E'a\\nb\\tc', '(', ')', ',', '\"\"', '\\\\', '(1,\"a\")'",
        "SELECT ROW(1, 'a,\"b', NULL)",
        "SELECT a.label, b.label FROM sessions a, sessions b",
        "SELECT 1 WHERE FALSE",
        "SELECT table_name, is_insertable_into FROM information_schema.tables WHERE table_name = 'turns'",
        "WITH s AS (SELECT 1 AS x) SELECT * FROM s ORDER BY 1",
        "TABLE sessions",
        "VALUES (1, 'x'), (2, NULL) ORDER BY 1 DESC",
        "SHOW server_version",
        "EXPLAIN (COSTS OFF) SELECT label FROM sessions",
        "EXPLAIN (COSTS OFF, FORMAT JSON) SELECT 1",
    ],
)
def test_a_query_gives_what_it_always_gave(told: Ledger, sql: str) -> None:
    with psycopg.connect(told.database.dsn) as plain:  # type: ignore[attr-defined]
        cursor = plain.execute(sql.encode())
        names = [column.name for column in cursor.description or ()]
        assert told.database.query(sql) == (names, cursor.fetchall())


def test_rows_end_at_the_limit_and_time_at_the_timeout(told: Ledger) -> None:
    assert told.database.query("SELECT generate_series(1, 1000000000000)", limit=2)[1] == [(1,), (2,)]
    with pytest.raises(LedgerError, match="took too long"):
        told.database.query("SELECT pg_sleep(600)", timeout_s=0.2)
    with pytest.raises(LedgerError, match="took too long"):
        told.database.query("SELECT set_config('statement_timeout', '0', FALSE), pg_sleep(600)", timeout_s=0.2)
    with pytest.raises(LedgerError, match="took too long"):
        told.database.query("SELECT max(a) FROM (SELECT generate_series(1, 1000000000000) AS a) s", timeout_s=0.2)


def test_nothing_but_the_role_is_left_behind(told: Ledger) -> None:
    functions = "SELECT count(*) FROM pg_proc WHERE proname = 'ledger_ask'"
    ask(told, "SELECT 1")
    assert told.database.ask(functions) == [(0,)]
    [(can_log_in, is_super)] = told.database.ask(
        f"SELECT rolcanlogin, rolsuper FROM pg_roles WHERE rolname = '{ROLE}'"  # noqa: S608 - ours
    )
    assert (can_log_in, is_super) == (False, False)


def test_new_tables_can_be_read_without_further_ado(told: Ledger) -> None:
    ask(told, "SELECT 1")
    with psycopg.connect(told.database.dsn, autocommit=True) as admin:  # type: ignore[attr-defined]
        admin.execute("CREATE TABLE later AS SELECT 7 AS n")
    assert ask(told, "SELECT n FROM later") == [(7,)]


def test_an_ordinary_user_reads_as_itself_and_one_who_can_not_be_confined_is_refused(
    server: PostgresServer, told: Ledger
) -> None:
    url: str = told.database.dsn  # type: ignore[attr-defined]
    with psycopg.connect(server.admin_url, autocommit=True) as admin:
        for user in ("ordinary", "watcher"):
            if not admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (user,)).fetchone():
                admin.execute(f"CREATE ROLE {user} LOGIN PASSWORD 'x'".encode())
        admin.execute("GRANT pg_monitor, pg_read_server_files TO watcher")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO ordinary, watcher")
    database = PostgresDatabase(_as_user(url, "ordinary"), readonly=True)
    assert database.query("SELECT label FROM sessions")[1] == [("main",)]
    assert database.query("SELECT current_user")[1] == [("ordinary",)]
    for sql in ("SELECT pg_read_file('PG_VERSION')", "SELECT pg_reload_conf()", "DELETE FROM log", "SET ROLE postgres"):
        with pytest.raises(LedgerError):
            database.query(sql)
    database.close()
    database = PostgresDatabase(_as_user(url, "watcher"), readonly=True)
    with pytest.raises(ReadOnlyStore, match=r"may do more than read.*connect as a user that may only read"):
        database.query("SELECT label FROM sessions")
    database.close()


def _as_user(url: str, user: str) -> str:
    """The same database for another user."""
    head, _, rest = url.partition("://")
    return f"{head}://{user}:x@{rest.rpartition('@')[2]}"


def test_a_backup_leaves_out_the_rights_of_the_role_and_keeps_those_that_somebody_has_given(
    server: PostgresServer,
) -> None:
    """A server on which it is restored has no such role."""
    with Ledger.open(server.new_url()) as ledger:
        assert ask(ledger, "SELECT 1") == [(1,)]
        assert ledger.database.ask(NO_GRANTS_BUT_OURS) == [(True,)]
        with psycopg.connect(ledger.database.dsn, autocommit=True) as admin:  # type: ignore[attr-defined]
            admin.execute("GRANT SELECT ON turns TO PUBLIC")
        assert ledger.database.ask(NO_GRANTS_BUT_OURS) == [(False,)]
