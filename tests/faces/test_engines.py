"""Both engines say the same of every golden folder, and what they say is whole."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from agents_ledger import Ledger
from agents_ledger.faces.tables import TABLES
from agents_ledger.store.statements import face_name
from tests.capture.folders import GOLDEN, opened, sync
from tests.support.databases import PostgresServer

FACES = [
    *(("mnemonic", name) for name in ("agent_sessions", "agent_messages", "agent_turns", "agent_tool_calls")),
    *(("events", name) for name in ("events", "threads")),
    *(("aix", name) for name in ("sessions", "messages", "turns", "tool_calls")),
]


def test_sqlite_and_postgres_give_the_same_rows(tmp_path: Path, server: PostgresServer) -> None:
    url = server.new_url()
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, GOLDEN)
    with Ledger.open(url) as ledger:
        sync(ledger, GOLDEN)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as file, psycopg.connect(url) as there:
        for system, table in FACES:
            here = file.execute(f"SELECT * FROM {face_name(system, table, 'sqlite')}").fetchall()  # noqa: S608
            rows = there.execute(f"SELECT * FROM {system}.{table}".encode()).fetchall()  # noqa: S608
            assert sorted(map(plain, here)) == sorted(map(plain, rows)), table
            assert here, table


def plain(row: tuple[Any, ...]) -> str:
    """A row, whatever spaces its JSON has and whatever an engine calls a number."""
    return repr([_value(value) for value in row])


def _value(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.dumps(json.loads(value), sort_keys=True)
        except ValueError:
            return value
    return value if value is None or isinstance(value, str) else int(value)


def test_what_is_called_json_is_json(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, GOLDEN)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as file:
        for name, table in TABLES.items():
            for column in table.columns:
                if column.endswith("_json") or column == "query_message_ids":
                    sql = f"SELECT {column} FROM {name} WHERE {column} IS NOT NULL"  # noqa: S608
                    assert [json.loads(text) for (text,) in file.execute(sql)], (name, column)
