"""What is sealed stays, also against plain SQL: the database itself refuses, whoever asks."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from agents_ledger import Call, CodeBlock, File, Ledger, Lint, Message, Turn
from agents_ledger.model.rows import TurnRow

Run = Callable[[str], object]

KEPT = (
    "turns",
    "segments",
    "messages",
    "tool_calls",
    "compactions",
    "originals",
    "message_files",
    "message_lints",
    "message_codeblocks",
    "sessions",
    "session_history",
    "session_aliases",
    "log",
)
# One column of each table that never changes (turns: all of them, below).
FIXED = {
    "segments": "fork_depth = fork_depth + 1",
    "messages": "content = 'other'",
    "tool_calls": "result_json = 'other'",
    "compactions": "summary = 'other'",
    "originals": "field = field || 'x'",
    "message_files": "file_path = 'other'",
    "message_lints": "message = 'other'",
    "message_codeblocks": "content = 'other'",
    "session_history": "reason = 'rewind'",
    "log": "at = at + 1",
}
SESSION = ("label", "persona_id", "origin", "origin_session_id", "created_at")  # those that are known from the start
NUMBERS = {name for name, kind in TurnRow.__annotations__.items() if kind in (int, int | None)} | {"created_at"}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ledger with rows in every table, one for all of these tests: none of them changes it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('guards') / 'ledger.db'}"
    else:
        url = request.getfixturevalue("server").new_url()
    message = Message(
        "user", "odd \x00", files=(File("a.py"),), lints=(Lint("a.py", "m"),), codeblocks=(CodeBlock("x = 1"),)
    )
    with Ledger.open(url) as ledger:
        first = ledger.append("main", Turn(messages=(message,), calls=(Call("Read"),)))
        ledger.append("main", Turn(messages=(Message("user", "two"),)))
        ledger.fork(first, "branch")
        ledger.append("branch", Turn(messages=(Message("user", "three"),)))
        ledger.compact("main", "summary", keep=1)
        ledger.alias("short", "main")
    return url


@pytest.fixture
def run(filled: str) -> Iterator[Run]:
    """A client that is not ours, with its default settings."""
    if is_server(filled):
        with psycopg.connect(filled) as server:
            yield lambda sql: server.execute(sql).rowcount
            server.rollback()
        return
    file = apsw.Connection(filled.removeprefix("sqlite:///"))
    file.execute("BEGIN")
    yield lambda sql: (file.execute(sql).fetchall(), file.changes())[1]
    file.execute("ROLLBACK")
    file.close()


def a_byte(url: str) -> str:
    return r"'\x00'::bytea" if is_server(url) else "x'00'"


def is_server(url: str) -> bool:
    return url.startswith("postgresql")


def refused(run: Run, sql: str) -> None:
    run("SAVEPOINT attempt")
    with pytest.raises((apsw.ConstraintError, psycopg.Error), match="ledger: "):
        run(sql)
    run("ROLLBACK TO SAVEPOINT attempt")


@pytest.mark.parametrize("table", KEPT)
def test_no_row_is_ever_deleted(run: Run, table: str) -> None:
    refused(run, f"DELETE FROM {table}")  # noqa: S608


@pytest.mark.parametrize("table", KEPT)
def test_no_table_is_ever_emptied(run: Run, filled: str, table: str) -> None:
    # SQLite has no TRUNCATE: it is a DELETE without a condition there
    refused(run, f"TRUNCATE {table} CASCADE" if is_server(filled) else f"DELETE FROM {table}")  # noqa: S608


@pytest.mark.parametrize("table", FIXED)
def test_no_sealed_row_ever_changes(run: Run, table: str) -> None:
    refused(run, f"UPDATE {table} SET {FIXED[table]}")  # noqa: S608


@pytest.mark.parametrize("column", [name for name in TurnRow.__struct_fields__ if name != "has_children"])
def test_no_column_of_a_sealed_turn_ever_changes(run: Run, filled: str, column: str) -> None:
    value = f"coalesce({column}, 0) + 1" if column in NUMBERS else f"coalesce({column}, '') || 'x'"
    if column == "turn_hash":
        value = a_byte(filled)
    refused(run, f"UPDATE turns SET {column} = {value}")  # noqa: S608
    if column in ("model", "error", "native_id", "completed_at"):
        refused(run, f"UPDATE turns SET {column} = NULL, status = 'failed'")  # noqa: S608


def test_a_turn_may_get_children_and_never_loses_them(run: Run) -> None:
    assert run("UPDATE turns SET has_children = 1 WHERE has_children = 0") == 2
    refused(run, "UPDATE turns SET has_children = 0")


@pytest.mark.parametrize("column", SESSION)
def test_where_a_session_comes_from_never_changes(run: Run, column: str) -> None:
    value = f"{column} + 1" if column in NUMBERS else f"coalesce({column}, '') || 'x'"
    refused(run, f"UPDATE sessions SET {column} = {value} WHERE label = 'branch'")  # noqa: S608


def test_a_pointer_never_moves_without_its_history(run: Run) -> None:
    refused(run, "UPDATE sessions SET thread_id = NULL WHERE label = 'main'")
    refused(run, "UPDATE sessions SET thread_id = (SELECT min(id) FROM turns) WHERE label = 'main'")
    refused(
        run,
        "INSERT INTO sessions (label, thread_id, created_at, updated_at) "
        "VALUES ('new', (SELECT min(id) FROM turns), 1, 1)",
    )


ADDED = {
    "messages": "(n, id, turn_id, role, sequence, created_at, root_id) SELECT 1000, 'x', id, 'user', 99, 1, root_id",
    "tool_calls": (
        "(n, id, turn_id, tool_name, params_json, status, started_at, sequence, root_id) "
        "SELECT 1001, 'x', id, 'Read', '{}', 'completed', 1, 99, root_id"
    ),
    "compactions": "(turn_id, summary, summarized_through_turn_id, root_id) SELECT id, 's', id, root_id",
    "originals": "(row_id, field, bytes, turn_id, root_id) SELECT 'x', 'y', turn_hash, id, root_id",
}
ATTACHED = {
    "message_files": "(id, message_id, kind, file_path, root_id) SELECT 99, id, 'read', 'p', root_id",
    "message_lints": "(id, message_id, root_id) SELECT 99, id, root_id",
    "message_codeblocks": "(id, message_id, idx, content, root_id) SELECT 99, id, 99, 'x', root_id",
}


@pytest.mark.parametrize("table", [*ADDED, *ATTACHED])
def test_nothing_is_added_to_a_sealed_turn(run: Run, table: str) -> None:
    if table in ADDED:
        refused(run, f"INSERT INTO {table} {ADDED[table]} FROM turns WHERE turn_type = 'normal'")
    else:
        refused(run, f"INSERT INTO {table} {ATTACHED[table]} FROM messages")


def test_the_log_takes_only_its_next_number(run: Run, filled: str) -> None:
    for number in ("max(seq)", "max(seq) + 2", "0", "-1"):
        row = f"SELECT {number}, 'seal', 'x', 1, {a_byte(filled)} FROM log"  # noqa: S608
        refused(run, f"INSERT INTO log (seq, kind, ref, at, leaf) {row}")


LIVE = (
    "INSERT INTO turns (id, started_at, root_id, segment_id, depth) "
    "SELECT 'live', 1, 'live', max(id), 999 FROM segments"
)


def test_a_live_turn_is_no_parent_no_head_and_not_sealed_with_open_calls(run: Run, filled: str) -> None:
    run(LIVE)
    refused(
        run,
        "INSERT INTO turns (id, parent_turn_id, started_at, root_id, segment_id, depth) "
        "SELECT 'child', id, 1, root_id, segment_id, 1000 FROM turns WHERE id = 'live'",
    )
    refused(
        run,
        "INSERT INTO session_history (id, session_label, thread_id, changed_at, reason) "
        "VALUES (1000, 'main', 'live', 1, 'advance')",
    )
    run(
        "INSERT INTO tool_calls (n, id, turn_id, tool_name, params_json, status, started_at, sequence, root_id) "
        "VALUES (1001, 'call', 'live', 'Shell', '{}', 'running', 1, 0, 'live')"
    )
    sealed = f"status = 'completed', turn_hash = {a_byte(filled)}, seal_salt = {a_byte(filled)}, seal_seq = 1"
    refused(run, f"UPDATE turns SET {sealed} WHERE id = 'live'")  # noqa: S608
    run("UPDATE tool_calls SET status = 'completed' WHERE id = 'call'")
    run(f"UPDATE turns SET {sealed} WHERE id = 'live'")  # noqa: S608
    refused(run, "UPDATE tool_calls SET status = 'failed' WHERE id = 'call'")


def test_a_compaction_turn_is_not_sealed_without_what_it_summarised(run: Run, filled: str) -> None:
    refused(
        run,
        "INSERT INTO turns (id, turn_type, status, started_at, root_id, segment_id, depth, turn_hash, seal_salt, "  # noqa: S608
        f"seal_seq) SELECT 'x', 'compaction', 'completed', 1, 'x', max(id), 999, {a_byte(filled)}, {a_byte(filled)}, 1 "
        "FROM segments",
    )


@pytest.mark.parametrize("table", ["turns", "sessions", "session_history", "segments"])
def test_a_replacement_that_sqlite_lets_past_the_guards_is_found_by_verify(tmp_path: Path, table: str) -> None:
    """`INSERT OR REPLACE` deletes without firing delete triggers (SQLite's documented behaviour)."""
    copy = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{copy}") as ledger:
        first = ledger.append("main", Turn(messages=(Message("user", "one"),)))
        ledger.append("main", Turn(messages=(Message("user", "two"),)))
        ledger.fork(first, "branch")
        ledger.append("branch", Turn(messages=(Message("user", "three"),)))
    file = apsw.Connection(str(copy))
    changed = {
        "turns": "SELECT id, status, started_at, root_id, segment_id, depth FROM turns WHERE depth = 1",
        "sessions": "SELECT label, persona_id, created_at, updated_at FROM sessions WHERE label = 'main'",
        "session_history": "SELECT id, session_label, thread_id, changed_at + 1, reason FROM session_history",
        "segments": "SELECT id, root_id, parent_segment_id, fork_depth + 1 FROM segments WHERE fork_depth > 0",
    }
    columns = {
        "turns": "id, status, started_at, root_id, segment_id, depth",
        "sessions": "label, persona_id, created_at, updated_at",
        "session_history": "id, session_label, thread_id, changed_at, reason",
        "segments": "id, root_id, parent_segment_id, fork_depth",
    }
    try:
        file.execute(f"INSERT OR REPLACE INTO {table} ({columns[table]}) {changed[table]}")
    except apsw.ConstraintError:
        return  # refused: better still
    finally:
        file.close()
    with Ledger.open(f"sqlite:///{copy}") as ledger:
        assert ledger.verify().findings != []
