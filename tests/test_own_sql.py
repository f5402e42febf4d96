"""Somebody's own SQL: it reads, on both databases, whatever it says."""

from pathlib import Path

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import BadInput, LedgerError, ReadOnlyStore

WRITING = (
    "DELETE FROM session_history",
    "UPDATE sessions SET status = 'deleted'",
    "/* SELECT */ UPDATE sessions SET status = 'deleted'",
    "-- SELECT\nUPDATE sessions SET status = 'deleted'",
    "DROP TABLE compactions",
    "WITH gone AS (DELETE FROM log RETURNING seq) SELECT * FROM gone",
    "SELECT 1; UPDATE sessions SET status = 'deleted'",
    "SELECT 1 INTO copied",
    "EXPLAIN ANALYZE UPDATE sessions SET status = 'deleted'",
    "SELECT * FROM sessions FOR UPDATE",
    # what only PostgreSQL knows: a block that ends the transaction that reads, and begins one that writes
    "DO $$ BEGIN COMMIT; SET TRANSACTION READ WRITE; UPDATE sessions SET status = 'deleted'; COMMIT; END $$",
    "DO $$ BEGIN COMMIT; SET TRANSACTION READ WRITE; DROP TABLE compactions CASCADE; COMMIT; END $$",
    "COPY (SELECT 1) TO PROGRAM 'touch {file}'",
    "COPY (SELECT 1) TO '{file}'",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "BEGIN",
    "CALL nothing()",
    "SELECT set_config('transaction_read_only', 'off', FALSE)",
)


@pytest.fixture
def told(ledger: Ledger) -> Ledger:
    """A ledger with one turn."""
    ledger.append("main", Turn((Message("user", "hello"), Message("assistant", "well"))))
    return ledger


@pytest.mark.parametrize("sql", WRITING)
def test_nothing_but_a_query_is_run(told: Ledger, sql: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)  # the server may run as another user
    with pytest.raises(LedgerError):
        told.database.query(sql.replace("{file}", str(tmp_path / "made")))
    assert not (tmp_path / "made").exists()
    assert told.database.query("SELECT label, status FROM sessions")[1] == [("main", "active")]
    assert told.database.query("SELECT count(*) FROM compactions")[1] == [(0,)]
    assert told.verify().is_good


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT label FROM sessions",
        "  -- a question\n/* of mine */ (select label from sessions);",
        "WITH s AS (SELECT label FROM sessions) SELECT label FROM s",
        "VALUES ('main')",
    ],
)
def test_a_query_is_answered(told: Ledger, sql: str) -> None:
    if told.database.dialect == "sqlite":
        sql = sql.replace("(select label from sessions)", "select label from sessions")
    assert told.database.query(sql)[1] == [("main",)]


def test_a_plan_can_be_asked_for(told: Ledger) -> None:
    assert told.database.query("EXPLAIN SELECT label FROM sessions")[1]


def test_rows_end_at_the_limit_and_columns_are_named_where_there_are_none(told: Ledger) -> None:
    assert told.database.query("SELECT role FROM messages ORDER BY sequence", limit=1) == (["role"], [("user",)])
    assert told.database.query("SELECT role FROM messages WHERE role = 'tool'") == (["role"], [])


def test_it_says_what_to_do(told: Ledger) -> None:
    with pytest.raises(BadInput, match="one statement at a time"):
        told.database.query("SELECT 1; SELECT 2")
    with pytest.raises(ReadOnlyStore, match="only reading is allowed"):
        told.database.query("DELETE FROM log")
    with pytest.raises(BadInput, match="nowhere"):
        told.database.query("SELECT * FROM nowhere")
