"""Whoever asks a face by key waits for the rows that he gets, not for the ledger to be read."""

import re
from collections.abc import Callable

import apsw
import psycopg
import pytest

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.store.statements import face_name

BY_KEY = [
    ("mnemonic", "agent_sessions", "id"),
    ("mnemonic", "agent_sessions", "parent_session_id"),
    ("mnemonic", "agent_messages", "id"),
    ("mnemonic", "agent_messages", "session_id"),
    ("mnemonic", "agent_turns", "id"),
    ("mnemonic", "agent_turns", "session_id"),
    ("mnemonic", "agent_tool_calls", "id"),
    ("mnemonic", "agent_tool_calls", "session_id"),
    ("events", "events", "id"),
    ("events", "events", "thread_id"),
    ("events", "threads", "id"),
    ("aix", "sessions", "id"),
    ("aix", "messages", "id"),
    ("aix", "messages", "session_id"),
    ("aix", "turns", "id"),
    ("aix", "tool_calls", "session_id"),
]


def grow(ledger: Ledger, name: str, sessions: int) -> None:
    """Sessions of four turns, each with a fork."""
    for number in range(sessions):
        label = f"{name}-{number}"
        for word in "abcd":
            messages = (Message("user", word, native_id=f"{label}-{word}"), Message("assistant", word.upper()))
            call = Call("Read", {"path": word}, "x", native_id=f"{label}-call-{word}")
            turn = ledger.append(label, Turn(messages=messages, calls=(call,)))
            if word == "b":
                ledger.fork(turn, f"{label}-fork")


def steps(file: apsw.Connection, sql: str, key: str) -> int:
    """How many instructions SQLite needs for an answer."""
    count = [0]

    def tick() -> bool:
        count[0] += 1
        return False

    file.set_progress_handler(tick, 1)
    rows = file.execute(sql, (key,)).fetchall()
    file.set_progress_handler(None)
    assert rows, sql
    return count[0]


def test_an_answer_costs_the_same_in_a_ledger_ten_times_as_large(tmp_path: object) -> None:
    path = f"{tmp_path}/ledger.db"
    measured: list[dict[str, int]] = []
    with Ledger.open(f"sqlite:///{path}") as ledger:
        grow(ledger, "main", 3)
        with ledger.turn("parent", "Go") as turn:
            call = turn.call("Task", {})
            call.spawn("worker", "Count")
            call.complete("42")
            turn.reply("Done.")
        for size in (0, 40):
            grow(ledger, "more", size)
            file = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            measured.append(
                {
                    f"{table}.{column}": steps(file, *question("sqlite", system, table, column, turn.id))
                    for system, table, column in BY_KEY
                }
            )
            file.close()
    small, large = measured
    assert {name: (small[name], large[name]) for name in small if large[name] > small[name] * 1.5 + 20} == {}


def question(dialect: str, system: str, table: str, column: str, turn: str) -> tuple[str, str]:
    """A question by key, and a key that has an answer."""
    if column == "parent_session_id":
        key = "parent"
    elif column != "id" or "session" in table or table == "threads":
        key = "main-1" if table in ("events", "agent_turns") else "main-1-fork"
    elif "turn" in table:
        key = turn
    elif "call" in table:
        key = "main-1-call-a"
    else:
        key = "main-1-a"
    sql = f"SELECT * FROM {face_name(system, table, dialect)} WHERE {column} = ?"  # type: ignore[arg-type]  # noqa: S608
    if table == "events" and column == "id":
        sql, key = sql.replace("= ?", "= (SELECT id FROM messages WHERE turn_id = ? LIMIT 1)"), turn
    return sql, key


@pytest.mark.parametrize(("system", "table", "column"), BY_KEY)
def test_postgres_answers_by_indexes(shown: Callable[[str], str], system: str, table: str, column: str) -> None:
    plan = shown(f"SELECT * FROM {system}.{table} WHERE {column} = 'x'")  # noqa: S608
    assert "Index" in plan
    assert not re.findall(r"Seq Scan on (?!leases)\w+", plan)


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Plans of a server that reads a table as a whole only if there is no other way."""
    url = request.getfixturevalue("server").new_url()

    def explain(sql: str) -> str:
        with psycopg.connect(url) as server:
            server.execute("SET enable_seqscan = off")
            return "\n".join(row[0] for row in server.execute(f"EXPLAIN {sql}".encode()))

    return explain
