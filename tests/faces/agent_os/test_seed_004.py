"""Agent OS's own queries, as they are printed, over sessions of other agents; and every word of the words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from agents_ledger import Ledger
from agents_ledger.capture.sync import Sync
from agents_ledger.faces.agent_os import Bus
from agents_ledger.model.formats import Machine
from tests.faces.agent_os.conversation import AT, Speaker

ROOT = Path(__file__).parents[3]
WORDS = (ROOT / "docs" / "words.md").read_text("utf-8")
# Tables as Agent OS defines them.
COLUMNS = {
    "tasks": ["id", "parent_task_id", "completion_status", "system_prompt", "created_at", "updated_at"],
    "calls": [
        "id", "task_id", "ability_name", "parameters", "status", "details", "created_at", "updated_at",
        "start_message_id", "end_message_id",
    ],
    "messages": ["id", "task_id", "role", "content", "timestamp"],
}  # fmt: skip
# The third column of the words, as a query for the value behind an entity (a view's word by the other's id).
BEHIND = {
    "sessions": "SELECT {} FROM sessions WHERE label = 'w/1'",
    "saves": "SELECT {} FROM saves WHERE ref = '{}' AND next_id IS NULL",
    "tool_calls": "SELECT {} FROM tool_calls WHERE id = 'wc'",
    "turns": "SELECT {} FROM turns WHERE session_label = 'w/1'",
    "messages": "SELECT {} FROM messages WHERE id = 'wm'",
}


class Asker:
    """Plain SQL, with Agent OS's names where the engine lets them be."""

    def __init__(self, url: str) -> None:
        self._server: Any = None
        if url.startswith("postgresql"):
            self._server = psycopg.connect(url, autocommit=True)
            self._server.execute("SET search_path = agent_os, public")
        else:
            self._file = apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)

    def __call__(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        if self._server is None:
            named = re.sub(r"\b(FROM|JOIN) messages\b", r"\1 task_messages", sql)  # there is a table of that name
            return self._file.execute(named, values).fetchall()
        return list(self._server.execute(sql.replace("?", "%s"), values).fetchall())

    def columns(self, table: str) -> list[str]:
        if self._server is None:
            name = "task_messages" if table == "messages" else table
            return [row[1] for row in self._file.execute(f"PRAGMA table_info({name})")]
        return [each.name for each in self._server.execute(f"SELECT * FROM {table} LIMIT 0").description]  # noqa: S608

    def close(self) -> None:
        (self._server or self._file).close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def captured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Ledger, Asker]]:
    """Sessions of Claude Code and pi, and one task that is at work."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('captured') / 'ledger.db'}"
    else:
        url = request.getfixturevalue("server").new_url()
    with Ledger.open(url) as ledger:
        folders = [str(ROOT / "tests" / "golden" / name) for name in ("claude-code", "pi")]
        Sync(ledger, Machine("", {}, "")).run(paths=folders)
        speaker = Speaker(Bus(ledger))
        speaker.task("w")
        speaker.task("w/1", parentTaskId="w", systemPrompt="Weigh words.")
        speaker.message("wm", taskId="w/1", content="How heavy?")
        speaker.call("wc", "in_progress", taskId="w/1", startMessageId="wm", parameters='{"a":1}', details='{"b":2}')
        speaker.call("wc", "completed", taskId="w/1", startMessageId="wm", parameters='{"a":1}', details='{"b":3}',
                     updatedAt=AT + 5, endMessageId="wm")  # fmt: skip
        speaker.call("wd", "in_progress", taskId="w/1", startMessageId="wm")
        speaker.task("w/1", parentTaskId="w", systemPrompt="Weigh words.", completionStatus="done", updatedAt=AT + 1)
        asker = Asker(url)
        yield ledger, asker
        asker.close()


def test_the_views_have_the_columns_of_the_seed(captured: tuple[Ledger, Asker]) -> None:
    assert {table: captured[1].columns(table) for table in COLUMNS} == COLUMNS


def test_the_messages_and_calls_of_each_task_are_those_of_its_session(captured: tuple[Ledger, Asker]) -> None:
    ledger, ask = captured
    lines = ledger.sessions(limit=1000)
    assert len(lines) > 20
    told = done = 0
    for line in lines:
        label = line.session.label
        turns = [] if line.session.thread_id is None else ledger.thread(line.session.thread_id)
        own = [record for record in turns if record.turn.session_label == label]
        messages = ask("SELECT * FROM messages WHERE task_id = ? ORDER BY timestamp", label)
        calls = ask("SELECT * FROM calls WHERE task_id = ?", label)
        told_by = [row for record in own for row in record.messages if row.source != "task" and row.role != "tool"]
        assert {(row.id, label, row.role, row.content or "", row.created_at) for row in told_by} <= set(messages)
        assert [row[4] for row in messages] == sorted(row[4] for row in messages)
        assert {call.id for record in own for call in record.calls} <= {row[0] for row in calls}
        assert len(set(messages)) == len(messages)
        told, done = told + len(messages), done + len(calls)
    at_home = "turn_id IN (SELECT id FROM turns WHERE session_label IN (SELECT label FROM sessions))"
    _, [(all_messages, all_calls)] = ledger.database.query(
        f"SELECT (SELECT count(*) FROM messages WHERE {at_home} AND role <> 'tool' "  # noqa: S608
        "AND coalesce(source, '') <> 'task'), "
        f"(SELECT count(*) FROM tool_calls WHERE {at_home})"
    )
    assert (told, done) == (all_messages, all_calls)


def test_tasks_are_found_by_time(captured: tuple[Ledger, Asker]) -> None:
    ledger, ask = captured
    times = sorted(line.session.created_at for line in ledger.sessions(limit=1000))
    middle = times[len(times) // 2]
    found = ask("SELECT * FROM tasks WHERE created_at BETWEEN ? AND ?", times[0], middle)
    assert len(found) == sum(at <= middle for at in times)


def test_tasks_are_found_by_status_and_by_parent(captured: tuple[Ledger, Asker]) -> None:
    ledger, ask = captured
    active = [row[0] for row in ask("SELECT * FROM tasks WHERE completion_status IS NULL")]
    heads = {line.session.label: line.session for line in ledger.sessions(limit=1000)}
    assert "w" in active
    assert all(heads[label].thread_id is None or heads[label].task_status == "running" for label in set(active) - {"w"})
    ended = ask("SELECT * FROM tasks WHERE completion_status = 'success'")
    assert 0 < len(ended) <= len(heads) - len(active)
    for label, session in heads.items():
        children = {row[0] for row in ask("SELECT * FROM tasks WHERE parent_task_id = ?", label)}
        assert children == {name for name, each in heads.items() if each.parent_session_label == label}, session


def test_calls_in_progress_are_found(captured: tuple[Ledger, Asker]) -> None:
    _, ask = captured
    sql = "SELECT * FROM calls WHERE status = 'in_progress' AND task_id = ?"
    assert [row[0] for row in ask(sql, "w/1")] == ["wd"]
    assert ask(sql, "w") == []


def words() -> list[tuple[str, str, str, str, str]]:
    """(entity, field, view, its column, ours) of every row of the table."""
    pattern = r"^\| (\w+) `(\w+)` \| `(\w+)\.(\w+)` \| `(\w+\.\w+)`"
    return [tuple(found) for found in re.findall(pattern, WORDS, re.MULTILINE)]


def test_the_words_map_every_field() -> None:
    mapped: dict[str, list[str]] = {}
    for _, _, view, column, _ in words():
        mapped.setdefault("messages" if view == "task_messages" else view, []).append(column)
    assert mapped == COLUMNS


@pytest.mark.parametrize(("entity", "field", "view", "column", "ours"), words())
def test_a_word_says_the_same_as_ours(
    captured: tuple[Ledger, Asker], entity: str, field: str, view: str, column: str, ours: str
) -> None:
    ledger, _ = captured
    ref = {"Task": "w/1", "Call": "wc", "Message": "wm"}[entity]
    speaker = Speaker(Bus(ledger))
    found = {
        "Task": lambda: speaker.ask("ldg:task:get", taskId="w/1")["task"],
        "Call": lambda: speaker.ask("ldg:call:list", taskId="w/1")["calls"][0],
        "Message": lambda: speaker.ask("ldg:msg:list", taskId="w/1")["messages"][0],
    }[entity]()
    table, name = ours.split(".")
    behind = BEHIND[table].format(name, ref)
    if field == "systemPrompt":
        behind = "SELECT content FROM messages WHERE sequence = 0 AND turn_id IN (SELECT id FROM turns WHERE "
        behind += "session_label = 'w/1')"
    query = ledger.database.query
    _, [(shown,)] = query(f"SELECT {column} FROM {view} WHERE id = '{ref}'")  # noqa: S608
    _, [(kept,)] = query(behind)
    assert found[field] == shown == kept
