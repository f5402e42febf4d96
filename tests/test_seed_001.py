"""Seed 001's reader: its columns by their names, its questions in plain SQL, with tools that are not ours."""

import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from agents_ledger import Ledger
from agents_ledger.store.statements import sql_folder
from tests.seed.rich import START, Clock, Story, fill, fixed_env

Rows = list[dict[str, Any]]
SEED = (Path(__file__).parent / "seed" / "nexus.sql").read_text("utf-8")
# What the engines call differently: the members of a JSON array, and a field of a JSON object.
EACH = {
    "sqlite": (r"json_each(\1) AS e", r"json_extract(\1, '$.\2')"),
    "postgres": (r"json_array_elements_text(CAST(\1 AS JSON)) AS e(value)", r"CAST(\1 AS JSON) ->> '\2'"),
}


class Asker:
    """Somebody with a plain client and SQL."""

    def __init__(self, kind: str, url: str, story: Story) -> None:
        self.kind = kind
        self.url = url
        self.story = story
        self.dialect = "postgres" if kind == "psycopg" else "sqlite"

    def ask(self, sql: str) -> Rows:
        each, field = EACH[self.dialect]
        sql = re.sub(r"EACH\(([\w.]+)\)", each, sql)
        sql = re.sub(r"FIELD\(([\w.]+), (\w+)\)", field, sql)
        path = self.url.removeprefix("sqlite:///")
        if self.kind == "sqlite3 shell":
            done = subprocess.run(
                ["sqlite3", "-readonly", "-json", path, sql], capture_output=True, text=True, check=True
            )
            return list(json.loads(done.stdout or "[]"))
        if self.kind == "python sqlite3":
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
                file.row_factory = sqlite3.Row
                return [dict(row) for row in file.execute(sql)]
        with psycopg.connect(self.url, row_factory=dict_row) as server:
            return server.execute(sql.encode()).fetchall()


@pytest.fixture(scope="module", params=["sqlite3 shell", "python sqlite3", "psycopg"])
def asker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Asker:
    if request.param == "sqlite3 shell" and shutil.which("sqlite3") is None:
        pytest.skip("the sqlite3 shell is not installed; the standard library's SQLite asks the same")
    if request.param == "psycopg":
        url = request.getfixturevalue("server").new_url()
    else:
        url = f"sqlite:///{tmp_path_factory.mktemp('seed') / 'ledger.db'}"
    clock = Clock()
    with Ledger.open(url, env=fixed_env(clock)) as ledger:
        return Asker(request.param, url, fill(ledger, clock))


def seed_columns() -> dict[str, list[tuple[str, str, str | None]]]:
    """The seed's tables: each column's name, type and default, as SQLite itself reads them."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(SEED)
        tables = [name for (name,) in memory.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {
            table: [(row[1], row[2], row[4]) for row in memory.execute(f"PRAGMA table_info({table})")]
            for table in tables
            if not table.startswith("sqlite_")
        }


SEED_COLUMNS = seed_columns()


@pytest.mark.parametrize("table", SEED_COLUMNS)
def test_every_column_of_the_seed_is_there_by_its_name_and_holds_its_type(asker: Asker, table: str) -> None:
    columns = SEED_COLUMNS[table]
    rows = asker.ask(f"SELECT {', '.join(name for name, _, _ in columns)} FROM {table}")  # noqa: S608
    assert rows
    for name, kind, _ in columns:
        kept = [row[name] for row in rows if row[name] is not None]
        assert kept, f"the story fills {table}.{name}"
        assert {type(value) for value in kept} == {int if kind == "INTEGER" else str}, f"{table}.{name}"
    assert len(SEED_COLUMNS) == 11


def test_the_defaults_are_the_seed_s(asker: Asker) -> None:
    for table, columns in SEED_COLUMNS.items():
        for name, _, default in columns:
            if default is None:
                continue
            if asker.dialect == "sqlite":
                ours = asker.ask(f"SELECT dflt_value AS d FROM pragma_table_info('{table}') WHERE name = '{name}'")  # noqa: S608
            else:
                ours = asker.ask(
                    "SELECT column_default AS d FROM information_schema.columns "  # noqa: S608
                    f"WHERE table_name = '{table}' AND column_name = '{name}'"
                )
            assert str(ours[0]["d"]).split("::")[0] == default, f"{table}.{name}"


def test_the_values_that_the_seed_names_for_a_status_are_all_allowed() -> None:
    schema = sql_folder().joinpath("schema.sql").read_text("utf-8")
    for table, column in (
        ("turns", "status"),
        ("turns", "turn_type"),
        ("sessions", "status"),
        ("tool_calls", "status"),
    ):
        wanted, allowed = (
            re.search(
                rf"CREATE TABLE {table} \(.*?\n    {column} TEXT NOT NULL DEFAULT (.*?)\n    \w+ ", text, re.DOTALL
            )
            for text in (SEED, schema.replace("\n\n", "\n") + "\n")
        )
        assert wanted is not None
        assert allowed is not None
        values = set(re.findall(r"'([a-z]+)'", wanted[1].split("\n")[0]))
        assert len(values) >= 2
        assert values <= set(re.findall(r"'([a-z]+)'", allowed[1])), f"{table}.{column}"


def test_the_statuses_of_a_story_are_the_seed_s(asker: Asker) -> None:
    def kept(sql: str) -> set[str]:
        return {str(row["x"]) for row in asker.ask(sql)}

    assert kept("SELECT status AS x FROM turns") == {"completed", "failed"}
    assert kept("SELECT turn_type AS x FROM turns") == {"normal", "compaction"}
    assert kept("SELECT role AS x FROM turns") == {"unified", "manager", "worker"}
    assert kept("SELECT status AS x FROM sessions") == {"active", "archived"}
    assert kept("SELECT kind AS x FROM message_files") == {"read", "written"}
    assert kept("SELECT role AS x FROM messages") == {"system", "user", "assistant"}
    assert kept("SELECT task_status AS x FROM sessions WHERE is_subagent = 1") == {"completed"}


HEAD_AT = (
    "SELECT thread_id FROM session_history WHERE session_label = 'main' AND changed_at <= {} "
    "ORDER BY changed_at DESC, id DESC LIMIT 1"
)
Answer = Callable[[Story], list[tuple[Any, ...]]]
QUESTIONS: list[tuple[str, str, Answer]] = [
    ("what was the head after the first turn", HEAD_AT.format("{s.between[0]}"), lambda s: [(s.first,)]),
    ("what was the head before the compaction", HEAD_AT.format("{s.between[2]}"), lambda s: [(s.third,)]),
    ("what was the head while it was rewound", HEAD_AT.format("{s.between[3]}"), lambda s: [(s.third,)]),
    ("what is the head now", "SELECT thread_id FROM sessions WHERE label = 'main'", lambda s: [(s.last,)]),
    ("what was the head before the beginning", HEAD_AT.format(START), lambda _: []),
    (
        "which sessions have included a turn",
        (
            "SELECT DISTINCT h.session_label FROM threads t, EACH(t.ancestry), session_history h "
            "WHERE e.value = '{s.second}' AND h.thread_id = t.turn_id ORDER BY 1"
        ),
        lambda _: [("main",), ("side",)],
    ),
    (
        "which sessions have included a turn of one of them",
        (
            "SELECT DISTINCT h.session_label FROM threads t, EACH(t.ancestry), session_history h "
            "WHERE e.value = '{s.third}' AND h.thread_id = t.turn_id ORDER BY 1"
        ),
        lambda _: [("main",)],
    ),
    (
        "how did a session come about",
        "SELECT thread_id, reason FROM session_history WHERE session_label = 'main' ORDER BY id",
        lambda s: [
            (s.first, "advance"),
            (s.second, "advance"),
            (s.third, "advance"),
            (s.compaction, "advance"),
            (s.last, "advance"),
            (s.third, "rewind"),
            (s.last, "replay"),
        ],
    ),
    (
        "where did a fork begin",
        "SELECT thread_id, reason FROM session_history WHERE session_label = 'side' ORDER BY id",
        lambda s: [(s.second, "fork"), (s.side, "advance"), (s.side_compaction, "advance")],
    ),
    (
        "which session does a key mean: session first, then alias",
        (
            "SELECT coalesce((SELECT label FROM sessions WHERE label = 'whatsapp:+49' AND status = 'active'), "
            "(SELECT session_label FROM session_aliases WHERE alias = 'whatsapp:+49')) AS label"
        ),
        lambda _: [("main",)],
    ),
    (
        "which keys lead to a session, and why",
        "SELECT alias, reason FROM session_aliases WHERE session_label = 'main' ORDER BY alias",
        lambda _: [
            ("telegram:7", "identity_merge"),
            ("tg:7", "identity_merge"),
            ("whatsapp:+49", "identity_promotion"),
        ],
    ),
    (
        "what are a turn's children",
        "SELECT id FROM turns WHERE parent_turn_id = '{s.second}' ORDER BY id",
        lambda s: sorted([(s.third,), (s.side,)]),
    ),
    (
        "what are a turn's siblings",
        (
            "SELECT b.id FROM turns a JOIN turns b ON b.parent_turn_id = a.parent_turn_id AND b.id <> a.id "
            "WHERE a.id = '{s.side}'"
        ),
        lambda s: [(s.third,)],
    ),
    (
        "was a turn forked from",
        "SELECT has_children FROM turns WHERE id IN ('{s.second}', '{s.last}') ORDER BY id",
        lambda _: [(1,), (0,)],
    ),
    (
        "what is the way to the root",
        (
            "WITH RECURSIVE up(id, parent, n) AS (SELECT id, parent_turn_id, 0 FROM turns WHERE id = '{s.last}' "
            "UNION ALL SELECT t.id, t.parent_turn_id, up.n + 1 FROM up JOIN turns t ON t.id = up.parent) "
            "SELECT id FROM up ORDER BY n"
        ),
        lambda s: [(s.last,), (s.compaction,), (s.third,), (s.second,), (s.first,)],
    ),
    (
        "what is a thread's ancestry and depth",
        "SELECT ancestry, depth FROM threads WHERE turn_id = '{s.side}'",
        lambda s: [(json.dumps([s.first, s.second, s.side], separators=(",", ":")), 3)],
    ),
    (
        "how many tokens has a thread",
        "SELECT total_tokens FROM threads WHERE turn_id IN ('{s.first}', '{s.second}', '{s.last}') ORDER BY depth",
        lambda _: [(955,), (1082,), (1082,)],
    ),
    (
        "what was said in a turn, in order",
        "SELECT role, content FROM messages WHERE turn_id = '{s.first}' ORDER BY sequence",
        lambda _: [
            ("system", "You are careful."),
            ("user", "Rename the module"),
            ("assistant", "Looking around."),
            ("assistant", "Done."),
        ],
    ),
    (
        "which message answered",
        "SELECT m.content FROM turns t JOIN messages m ON m.id = t.response_message_id WHERE t.id = '{s.first}'",
        lambda _: [("Done.",)],
    ),
    (
        "which messages asked",
        (
            "SELECT m.content FROM turns t, EACH(t.query_message_ids), messages m "
            "WHERE t.id = '{s.first}' AND m.id = e.value"
        ),
        lambda _: [("Rename the module",)],
    ),
    (
        "which context did a message carry",
        "SELECT context_json FROM messages WHERE turn_id = '{s.first}' AND context_json IS NOT NULL",
        lambda _: [('{"event":7}',)],
    ),
    (
        "which tools did a turn call, with what outcome",
        (
            "SELECT c.tool_name, c.status, m.content FROM tool_calls c JOIN messages m ON m.id = c.message_id "
            "WHERE c.turn_id = '{s.first}' ORDER BY c.sequence"
        ),
        lambda _: [("Read", "completed", "Looking around."), ("Browser", "rejected", "Looking around.")],
    ),
    (
        "did the agent use a tool that it should not have had",
        (
            "SELECT c.tool_name FROM turns t JOIN tool_calls c ON c.turn_id = t.id WHERE t.tools_available IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM EACH(t.tools_available) WHERE e.value = c.tool_name)"
        ),
        lambda _: [("Browser",)],
    ),
    (
        "which permissions were granted but not used",
        (
            "SELECT e.value FROM (SELECT FIELD(permissions_granted, fs) AS granted, "
            "FIELD(permissions_used, fs) AS used "
            "FROM turns WHERE id = '{s.first}') AS p, EACH(p.granted) WHERE p.used NOT LIKE '%' || e.value || '%'"
        ),
        lambda _: [("read",)],
    ),
    (
        "what did a compaction do and cost",
        (
            "SELECT k.summary, k.compaction_type, k.trigger, k.model, k.tokens_before, k.tokens_after, k.duration_ms, "
            "k.turns_summarized FROM turns t JOIN compactions k ON k.turn_id = t.id WHERE t.id = '{s.compaction}'"
        ),
        lambda _: [("They renamed a module.", "summary", "context_limit", "haiku", 1000, 200, 1200, 1)],
    ),
    (
        "what is the context after a compaction: summary, kept turns",
        (
            "SELECT k.summary AS words, 0 AS depth FROM compactions k WHERE k.turn_id = '{s.compaction}' UNION ALL "
            "SELECT m.content, t.depth * 10 + m.sequence FROM compactions k "
            "JOIN turns f ON f.id = k.first_kept_turn_id "
            "JOIN threads h ON h.turn_id = k.turn_id, EACH(h.ancestry), turns t, messages m "
            "WHERE k.turn_id = '{s.compaction}' AND t.id = e.value AND t.depth >= f.depth AND m.turn_id = t.id "
            "ORDER BY 2"
        ),
        lambda _: [
            ("They renamed a module.", 0),
            ("Odd ␀ text", 20),
            ("See the code.", 21),
            ("Let somebody count", 30),
            ("There are 42.", 31),
        ],
    ),
    (
        "which subagents did a session start, from which call",
        (
            "SELECT s.label, s.task_description, s.task_status, c.tool_name, s.parent_turn_id FROM sessions s "
            "JOIN tool_calls c ON c.id = s.spawn_tool_call_id WHERE s.parent_session_label = 'main'"
        ),
        lambda s: [("worker-1", "Count the files", "completed", "Task", s.third)],
    ),
    (
        "who started a subagent",
        "SELECT c.turn_id, c.id FROM tool_calls c WHERE c.spawned_session_label = 'worker-1'",
        lambda s: [(s.third, s.spawn_call)],
    ),
    (
        "which sessions belong to a persona",
        "SELECT label FROM sessions WHERE persona_id = 'atlas' ORDER BY label",
        lambda _: [("main",), ("side",)],
    ),
    (
        "which session has a routing key or comes from somewhere",
        "SELECT label FROM sessions WHERE routing_key = 'dm:alice' AND origin = 'nexus' AND origin_session_id = 'n-1'",
        lambda _: [("main",)],
    ),
    (
        "which thread has a key",
        "SELECT turn_id, persona_id, system_prompt_hash FROM threads WHERE thread_key = 'dm:alice'",
        lambda s: [(s.first, "atlas", "sha256:abc")],
    ),
    (
        "what did an event start",
        "SELECT id, workspace_path FROM turns WHERE source_event_id = 'evt-1'",
        lambda s: [(s.first, "/work/demo")],
    ),
    (
        "who touched a file",
        (
            "SELECT m.turn_id, f.kind FROM message_files f JOIN messages m ON m.id = f.message_id "
            "WHERE f.file_path = 'src/a.py'"
        ),
        lambda s: [(s.second, "read")],
    ),
    (
        "which lints were visible",
        "SELECT file_path, lint_source, severity, end_col FROM message_lints WHERE message = 'unused import'",
        lambda _: [("src/a.py", "ruff", "warning", 9)],
    ),
    (
        "which code was suggested, in order",
        (
            "SELECT b.language, b.content FROM message_codeblocks b JOIN messages m ON m.id = b.message_id "
            "WHERE m.turn_id = '{s.second}' ORDER BY b.idx"
        ),
        lambda _: [("python", "x = 1"), (None, "plain")],
    ),
]


@pytest.mark.parametrize(("sql", "answer"), [each[1:] for each in QUESTIONS], ids=[each[0] for each in QUESTIONS])
def test_the_seed_s_questions_are_answered_by_plain_sql(asker: Asker, sql: str, answer: Answer) -> None:
    text = re.sub(r"\{(s\.[\w.\[\]]+)\}", lambda found: f"{{{found[1]}}}".format(s=asker.story), sql)
    assert [tuple(row.values()) for row in asker.ask(text)] == answer(asker.story)
