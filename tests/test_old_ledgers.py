"""Ledgers of earlier versions, one file each (`tests/old/<last migration>.db`), open, migrate and verify."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from agents_ledger.ledger import Ledger
from agents_ledger.store.migrate import migrations
from tests.support.databases import PostgresServer
from tests.test_schema import assert_nothing_is_lost

_MOVE = "id, session_label, thread_id, changed_at, from_thread_id, reason"
OLD = sorted((Path(__file__).parent / "old").glob("*.db"))


@pytest.mark.parametrize("old", OLD, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_is_brought_up_to_date(old: Path, tmp_path: Path) -> None:
    shutil.copy(old, tmp_path / "ledger.db")
    check(f"sqlite:///{tmp_path / 'ledger.db'}", old)


@pytest.mark.parametrize("old", OLD, ids=lambda path: path.stem)
def test_a_database_of_an_earlier_version_is_brought_up_to_date(old: Path, server: PostgresServer) -> None:
    url = server.bare_url()
    with closing(sqlite3.connect(old)) as source, psycopg.connect(url) as target:
        known = dict(source.execute("SELECT name, checksum FROM ledger_migrations"))
        target.execute(b"CREATE TABLE ledger_migrations (name TEXT PRIMARY KEY, checksum TEXT, applied_at BIGINT)")
        for step in migrations("postgres"):
            if step.name in known:
                target.execute(step.script.encode())
                target.execute("INSERT INTO ledger_migrations VALUES (%s, %s, 0)", (step.name, step.checksum))
        copy_rows(source, target)
    check(url, old)


def copy_rows(source: sqlite3.Connection, target: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Every row of the record, past the guards: it was written under them."""
    target.execute(b"SET session_replication_role = replica")
    listed = target.execute(b"SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    for table in sorted(str(row[0]) for row in listed if row[0] not in ("ledger_migrations", "search")):
        target.execute(f"DELETE FROM {table}".encode())  # noqa: S608 - our own tables
        rows = source.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - as above
        for row in rows:
            values = ", ".join(["%s"] * len(row))
            target.execute(f"INSERT INTO {table} VALUES ({values})".encode(), row)  # noqa: S608 - as above
    target.execute(b"SET session_replication_role = origin")


def check(url: str, old: Path) -> None:
    with closing(sqlite3.connect(old)) as source:
        turns = source.execute("SELECT count(*) FROM turns").fetchone()[0]
        labels = [row[0] for row in source.execute("SELECT label FROM sessions ORDER BY label")]
        moves = source.execute(f"SELECT {_MOVE} FROM session_history ORDER BY id").fetchall()  # noqa: S608 - ours
    with Ledger.open(url) as ledger:
        report = ledger.verify()
        assert report.is_good, report.findings[:5]
        assert_nothing_is_lost(ledger)
        assert ledger.database.query("SELECT count(*) FROM turns WHERE session_label IS NOT NULL")[1] == [(turns,)]
        assert [row[0] for row in ledger.database.query("SELECT label FROM sessions ORDER BY label")[1]] == labels
        assert ledger.database.query(f"SELECT {_MOVE} FROM session_history ORDER BY id")[1] == moves  # noqa: S608 - ours
        for label in labels:
            head = ledger.head(label)
            assert head is not None
            assert ledger.context(head).turns
            ledger.fork(head, f"{label} after")
        assert ledger.verify().is_good
