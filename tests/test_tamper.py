"""Any change behind the ledger's back is found: each column of each table, with the guards switched off."""

import json
import random
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from msgspec import Struct

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import LedgerError, StoreCorrupt
from agents_ledger.ledger import usage
from agents_ledger.store.database import without_password
from agents_ledger.store.statements import sql_folder
from tests.cli.conftest import Ldg
from tests.seed.rich import Clock, Story, fill, fixed_env

# Every table of the schema but those that are no part of the record.
SCHEMA = sql_folder().joinpath("schema.sql").read_text("utf-8")
# (`usages`, `captures`, `blocks`, `capture_blocks` and `superseded` have their own tests, on captured sources; `saves`
# have it in tests/faces.)
ELSEWHERE = ("usages", "captures", "blocks", "capture_blocks", "superseded", "saves")
NOT_RECORDED = {
    "leases": "who is writing now",
    "ledger_facts": "about the ledger itself; how far it is counted and indexed is checked, see below",
    "problems": "made again by `rebuild`, as are the following",
    "steps": "where steps of sources are",
    "session_details": "what sources say of sessions; the newest counts",
    "session_captures": "which sources a session was read from",
    "search_notes": "made of other rows, for searching",
    "search_vectors": "as search_notes",
    "usage_slots": "sums of `usages`, made again from them; compared with them below, as are the following",
    "segment_paths": "what the faces look things up by: follows from the record, as do the following",
    "session_ids": "names of sessions in other systems",
    "session_segments": "where sessions wrote",
    "written_sessions": "what was written into agents' files: the session's own move says where it was forked",
}
TABLES = re.findall(r"CREATE TABLE (\w+)", SCHEMA)
RECORD = [name for name in TABLES if name not in NOT_RECORDED and name not in ELSEWHERE]
# What no hash stands for, and why that is right.
UNVERIFIABLE = {
    ("messages", "n"): "the search index points at it; it says nothing about the conversation",
    ("tool_calls", "n"): "as messages.n",
    ("message_files", "id"): "the order of files in a message is their only meaning, and it is sealed",
    ("message_lints", "id"): "as message_files.id",
    ("message_codeblocks", "id"): "their order is idx",
    ("turns", "evidence"): "see test_evidence_tampering.py: that the bytes are there is checked, and so are they",
    ("messages", "evidence"): "as turns.evidence",
    ("tool_calls", "evidence"): "as turns.evidence",
}
# Texts that a CHECK binds: another one that it allows.
ALLOWED = {
    "normal": "compaction",
    "compaction": "normal",
    "completed": "failed",
    "failed": "completed",
    "rejected": "cancelled",
    "active": "archived",
    "archived": "deleted",
    "advance": "merge",
    "fork": "advance",
    "seal": "status",
    "session": "alias",
}
FLIPS = 200
REFUSED = (apsw.ConstraintError, apsw.MismatchError, psycopg.errors.IntegrityError)


class Tampered:
    """A filled ledger, and a raw connection that no guard stops."""

    def __init__(self, url: str, story: Story) -> None:
        self.url = url
        self.ledger = Ledger.open(url)
        self.story = story
        self._server: Any = None
        if url.startswith("postgresql"):
            self._server = psycopg.connect(url, autocommit=True)
            self._server.execute("SET session_replication_role = replica")
            self.place = "ctid"
        else:
            self._file = apsw.Connection(url.removeprefix("sqlite:///"))
            self._file.execute("PRAGMA foreign_keys=OFF; PRAGMA ignore_check_constraints=ON; PRAGMA synchronous=OFF")
            self._file.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # here alone: the schema stays as it is
            self.place = "rowid"

    def run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        if self._server is None:
            return self._file.execute(sql, values).fetchall()
        cursor = self._server.execute(sql.replace("?", "%s"), values)
        return [] if cursor.description is None else list(cursor.fetchall())

    def columns(self, table: str) -> list[str]:
        names, _ = self.ledger.database.query(f"SELECT * FROM {table} LIMIT 1")  # noqa: S608
        return names

    def rows(self, table: str) -> list[dict[str, Any]]:
        names = [self.place, *self.columns(table)]
        order = "ctid" if self._server else "rowid"
        found = self.run(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}")  # noqa: S608
        return [dict(zip(names, row, strict=True)) for row in found]

    def set(self, table: str, place: object, column: str, value: object) -> object:
        """Writes one value; gives the row's place afterwards."""
        sql = f"UPDATE {table} SET {column} = ? WHERE {self.place} = ? RETURNING {self.place}"  # noqa: S608
        [(now,)] = self.run(sql, value, place)
        return now

    def damage(self, table: str, place: object, column: str) -> object:
        """Sets the highest bit of a letter in a text, so that it is no UTF-8 any more; gives the row's place."""
        if self._server is None:
            text, bytes_ = "CAST(? AS TEXT)", "CAST({} AS BLOB)"
        else:
            text, bytes_ = "?::BYTEA::TEXT", "textsend({})"
            with suppress(psycopg.errors.DuplicateObject):
                self.run("CREATE CAST (BYTEA AS TEXT) WITHOUT FUNCTION")
        sql = f"SELECT {bytes_.format(column)} FROM {table} WHERE {self.place} = ?"  # noqa: S608
        raw = bytearray(self.run(sql, place)[0][0])
        raw[0] |= 0x80
        sql = f"UPDATE {table} SET {column} = {text} WHERE {self.place} = ? RETURNING {self.place}"  # noqa: S608
        return self.run(sql, bytes(raw), place)[0][0]

    def close(self) -> None:
        self.ledger.close()
        if self._server is not None:
            self._server.close()
        else:
            self._file.close()


class Change(Struct):
    """One value of one row, and what it becomes."""

    row: dict[str, Any]
    column: str
    value: Any


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Story]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('tamper') / 'ledger.db'}"
    else:
        url = request.getfixturevalue("server").new_url()
    clock = Clock()
    with Ledger.open(url, env=fixed_env(clock)) as ledger:
        return url, fill(ledger, clock)


@pytest.fixture(scope="module")
def tampered(filled: tuple[str, Story], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tampered]:
    url, story = filled
    if not url.startswith("postgresql"):
        copy = tmp_path_factory.mktemp("copy") / "ledger.db"
        shutil.copy(url.removeprefix("sqlite:///"), copy)
        url = f"sqlite:///{copy}"
    with closing(Tampered(url, story)) as opened:
        assert opened.ledger.verify().findings == []
        yield opened


@pytest.mark.parametrize("table", RECORD)
def test_a_change_of_any_column_is_found_and_its_row_is_named(tampered: Tampered, table: str) -> None:
    missed, misnamed, tried = [], [], 0
    for change in changes(tampered, table):
        try:
            place = tampered.set(table, change.row[tampered.place], change.column, change.value)
        except REFUSED:
            continue  # the database itself refuses
        tried += 1
        try:
            findings = tampered.ledger.verify().findings
            related = keys(tampered, table, change)
        finally:
            change.row[tampered.place] = tampered.set(table, place, change.column, change.row[change.column])
        told = f"{table}.{change.column}: {change.row[change.column]!r} -> {change.value!r}"
        if not findings:
            missed.append(told)
        elif not any(findings[0].row == key or key in findings[0].what for key in related):
            misnamed.append(f"{told}: {findings[0]}")
    assert missed == []
    assert misnamed == []
    assert tried >= len(tampered.columns(table)) - 6
    assert tampered.ledger.verify().findings == []


def changes(tampered: Tampered, table: str) -> Iterator[Change]:
    """For each column: another value, nothing where there was something, something where there was nothing."""
    rows = tampered.rows(table)
    for column in tampered.columns(table):
        if (table, column) in UNVERIFIABLE:
            continue
        full = next(row for row in rows if row[column] is not None)
        yield from (Change(full, column, value) for value in others(full[column]))
        yield Change(full, column, None)
        empty = next((row for row in rows if row[column] is None), None)
        if empty is not None:
            yield Change(empty, column, full[column])


def others(value: Any) -> list[Any]:
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, bytes):
        return [value[:-1] + bytes([value[-1] ^ 1]), value + value[:16], value[16:]]
    return [ALLOWED.get(value, value + "x")]


def keys(tampered: Tampered, table: str, change: Change) -> set[str]:
    """What may be named: the row's own key before and after, the turn it belongs to, its table if a link is broken."""
    found = {f"{table} row", f"a {table} row"}
    own = (
        "id",
        "turn_id",
        "row_id",
        "message_id",
        "label",
        "session_label",
        "alias",
        "seq",
        "ref",
        "thread_id",
        "seal_seq",
    )
    for name in own:
        found |= {str(value) for value in (change.row.get(name), change.value if change.column == name else None)}
    message = change.row.get("message_id")
    if message is not None:
        found |= {str(row[0]) for row in tampered.run("SELECT turn_id FROM messages WHERE id = ?", message)}
    if table == "segments":
        sql = "SELECT id FROM turns WHERE segment_id = ? OR segment_id = ?"
        found |= {row[0] for row in tampered.run(sql, change.row["id"], change.row["parent_segment_id"])}
    if table == "log" and change.column in ("seq", "kind"):
        found |= {"the log goes on with", "is missing", "stands for"}
    return found - {"None"}


@pytest.mark.parametrize("table", RECORD)
def test_a_row_that_is_gone_is_missed(tampered: Tampered, table: str) -> None:
    rows, columns = tampered.rows(table), tampered.columns(table)
    marks, missed = ", ".join("?" for _ in columns), []
    for row in [rows[at] for at in sorted({0, len(rows) // 2, len(rows) - 1})]:
        tampered.run(f"DELETE FROM {table} WHERE {tampered.place} = ?", row[tampered.place])  # noqa: S608
        try:
            if tampered.ledger.verify().is_good:
                missed.append(row)
        finally:
            values = [row[name] for name in columns]
            tampered.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", *values)  # noqa: S608
    assert missed == []
    assert tampered.ledger.verify().is_good


@pytest.mark.parametrize(("table", "key"), [("turns", "id"), ("sessions", "label")])
def test_a_row_that_others_refer_to_is_named_before_them(tampered: Tampered, table: str, key: str) -> None:
    columns, row = tampered.columns(table), tampered.rows(table)[-1]
    marks = ", ".join("?" for _ in columns)
    tampered.run(f"DELETE FROM {table} WHERE {key} = ?", row[key])  # noqa: S608
    findings = tampered.ledger.verify(limit=1000).findings
    values = [row[name] for name in columns]
    tampered.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", *values)  # noqa: S608
    assert findings[0].place in {"log", "sessions"}
    assert row[key] in findings[0].what + findings[0].row
    assert all(finding.place != "storage" and finding.row not in ("", "None") for finding in findings)
    if not tampered.url.startswith("postgresql"):
        referring = [finding for finding in findings if "names what is not there" in finding.what]
        assert {finding.place for finding in referring} >= {"session_history"}
        assert findings[-len(referring) :] == referring
        moves = {str(move["id"]) for move in tampered.rows("session_history")}
        assert {finding.row for finding in referring if finding.place == "session_history"} <= moves
    assert tampered.ledger.verify().findings == []


# A copy of a table's last row becomes another row by these.
ANOTHER: dict[str, dict[str, Any]] = {
    "segments": {"id": 99},
    "turns": {"id": "another", "depth": 99, "thread_key": None},
    "sessions": {"label": "another", "spawn_tool_call_id": None},
    "messages": {"n": 9998, "id": "another", "sequence": 9},
    "tool_calls": {"n": 9999, "id": "another", "sequence": 9, "spawned_session_label": None},
    "compactions": {"turn_id": "another"},
    "session_history": {"id": 9999},
    "session_aliases": {"alias": "another"},
    "message_files": {"id": 99, "line_start": 77},
    "message_lints": {"id": 99},
    "message_codeblocks": {"id": 99, "idx": 9},
    "originals": {"field": "another"},
    "log": {"seq": 9999},
}


@pytest.mark.parametrize("table", RECORD)
def test_a_row_that_was_added_is_found(tampered: Tampered, table: str) -> None:
    columns = tampered.columns(table)
    row = {**tampered.rows(table)[-1], **ANOTHER[table]}
    if table == "compactions":
        row["turn_id"] = tampered.story.first
    marks = ", ".join("?" for _ in columns)
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) RETURNING {tampered.place}"  # noqa: S608
    [(place,)] = tampered.run(sql, *[row[name] for name in columns])
    report = tampered.ledger.verify()
    tampered.run(f"DELETE FROM {table} WHERE {tampered.place} = ?", place)  # noqa: S608
    assert not report.is_good
    assert tampered.ledger.verify().is_good


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("messages", "content"),
        ("tool_calls", "result_json"),
        ("turns", "seal_seq"),
        ("turns", "parent_turn_id"),
        ("session_history", "thread_id"),
        ("sessions", "thread_id"),
        ("log", "leaf"),
        ("segments", "root_id"),
    ],
)
def test_two_rows_that_swapped_a_value_are_found(tampered: Tampered, table: str, column: str) -> None:
    one, *rest = [row for row in tampered.rows(table) if row[column] is not None]
    other = next(row for row in rest if row[column] != one[column])
    here = tampered.set(table, one[tampered.place], column, other[column])
    there = tampered.set(table, other[tampered.place], column, one[column])
    report = tampered.ledger.verify()
    tampered.set(table, here, column, one[column])
    tampered.set(table, there, column, other[column])
    assert not report.is_good
    assert tampered.ledger.verify().is_good


# One change of each column that follows from others. (The first row, where no other is named.)
DERIVED = {
    "usage_slots": [
        "input_tokens = input_tokens + 1000000",
        "output_tokens = 0, total_tokens = 0",
        "cached_input_tokens = cached_input_tokens + 1",
        "cache_write_tokens = cache_write_tokens - 1",
        "reasoning_tokens = reasoning_tokens + 1",
        "calls = calls + 1",
        "prompt_max = prompt_max + 1",
        "prompt_max = -1",
        "slot = slot + 1",
        "session_label = 'evil'",
        "model = 'cheap'",
        "provider = 'x'",
        "prompt_over = 7",
        "status = 'failed'",
        "workspace_path = '/x'",
        "persona_id = 'x'",
    ],
    "session_ids": ["id = 'evil'", "segment_id = segment_id + 1", "segment_id = NULL", "session_label = 'evil'"],
    "session_segments": ["session_label = 'evil'", "segment_id = 99"],
    "segment_paths": ["through = 1", "on_segment_id = 99", "segment_id = 99"],
    "ledger_facts": [
        "value = '99999' WHERE name = 'counted_through'",
        "value = '1' WHERE name = 'counted_through'",
        "value = 'x' WHERE name = 'counted_through'",
        "value = '-5' WHERE name = 'searchable_through'",
        "value = '99999' WHERE name = 'searchable_through'",
        "value = '2' WHERE name = 'noted'",
        "name = 'x' WHERE name = 'noted'",
    ],
}


@pytest.mark.parametrize("table", DERIVED)
def test_what_follows_from_the_record_is_compared_with_it(tampered: Tampered, table: str) -> None:
    tampered.ledger.database.write(usage.catch_up)
    columns = tampered.columns(table)
    listed, marks = ", ".join(columns), ", ".join("?" for _ in columns)
    rows = tampered.run(f"SELECT {listed} FROM {table} ORDER BY {listed}")  # noqa: S608
    assert rows
    missed = []

    def is_found() -> bool:
        # (of sums and of how far they go, nobody can tell which is wrong)
        named = {table, "usage_slots"} if table == "ledger_facts" else {table}
        return any(finding.place in named for finding in tampered.ledger.verify(limit=100).findings)

    def restore() -> None:
        tampered.run(f"DELETE FROM {table}")  # noqa: S608
        for row in rows:
            tampered.run(f"INSERT INTO {table} ({listed}) VALUES ({marks})", *row)  # noqa: S608

    first = " AND ".join(f"{name} = ?" for name, value in zip(columns, rows[0], strict=True) if value is not None)
    for change in DERIVED[table]:
        values = [] if "WHERE" in change else [value for value in rows[0] if value is not None]
        tampered.run(f"UPDATE {table} SET {change}{f' WHERE {first}' if values else ''}", *values)  # noqa: S608
        if not is_found():
            missed.append(change)
        restore()
    for row in [] if table == "ledger_facts" else rows[:3]:
        tampered.run(f"DELETE FROM {table} WHERE {columns[0]} = ? AND {columns[1]} = ?", *row[:2])  # noqa: S608
        if not is_found():
            missed.append(f"without {row}")
        restore()
    assert missed == []
    assert tampered.ledger.verify().findings == []


@pytest.mark.parametrize(
    ("table", "column", "key"),
    [
        ("messages", "content", "id"),
        ("messages", "native_id", "id"),
        ("tool_calls", "params_json", "id"),
        ("turns", "model", "id"),
        ("turns", "query_message_ids", "id"),
        ("compactions", "summary", "turn_id"),
        ("sessions", "origin", "label"),
        ("log", "body", "seq"),
        ("message_files", "file_path", "id"),
    ],
)
def test_a_text_that_is_none_any_more_is_named_and_the_rest_is_checked(
    tampered: Tampered, table: str, column: str, key: str
) -> None:
    whole = tampered.ledger.verify()
    row = next(row for row in tampered.rows(table) if row[column])
    place = tampered.damage(table, row[tampered.place], column)
    try:
        report = tampered.ledger.verify()
        with pytest.raises(StoreCorrupt, match="`ldg verify` names the row"):
            tampered.ledger.database.query(f"SELECT * FROM {table}")  # noqa: S608
    finally:
        tampered.set(table, place, column, row[column])
    first = report.findings[0]
    assert (first.place, first.row) == (table, str(row[key]))
    assert first.what.startswith(f"its {column} is damaged")
    assert [finding.place for finding in report.findings].count(table) <= 3
    assert (report.turns, report.log_entries, report.sessions) == (whole.turns, whole.log_entries, whole.sessions)
    assert tampered.ledger.verify().is_good


def test_damaged_texts_are_shown_as_far_as_they_can_be_read(tampered: Tampered) -> None:
    story, ldg = tampered.story, Ldg(tampered.url)
    tampered.ledger.index()
    rows = [row for row in tampered.rows("messages") if row["turn_id"] == story.second and row["content"]]
    places = [tampered.damage("messages", row[tampered.place], "content") for row in rows]
    try:
        for command in (["tree"], ["timeline"], ["show", story.second], ["show", "main"], ["sessions"]):
            done = ldg.run(*command)
            assert done.exit_code == 0, done.output
            assert rows[0]["content"][1:] in done.stdout or command != ["show", story.second]
        for command in (["search", "x"], ["context", story.second]):
            done = ldg.run(*command, "--json")
            assert done.exit_code in {0, 1}, done.output
            json.loads(done.stdout)
        # in a process of its own: this one has the file open behind the ledger's back, and `ldg sql` forks
        asked = ldg.apart("sql", "SELECT content FROM messages -- all", "--json")
        assert "\ufffd" in json.dumps(json.loads(asked.stdout), ensure_ascii=False)
        assert "names their rows" in asked.stderr
        done = ldg.run("show", story.second, "--json")
        assert "\ufffd" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
        assert f"`ldg --db {shlex.quote(without_password(ldg.url))} verify` names their rows" in done.stderr
        with pytest.raises(StoreCorrupt):
            tampered.ledger.get(story.second)
    finally:
        for row, place in zip(rows, places, strict=True):
            tampered.set("messages", place, "content", row["content"])
    assert ldg.run("show", story.second).stderr == ""
    assert tampered.ledger.verify().findings == []


def test_messages_in_another_order_and_a_turn_under_another_parent_are_found(tampered: Tampered) -> None:
    story = tampered.story
    first = next(row for row in tampered.rows("messages") if row["turn_id"] == story.second and not row["sequence"])
    place = tampered.set("messages", first[tampered.place], "sequence", 7)
    assert story.second in {finding.row for finding in tampered.ledger.verify().findings}
    tampered.set("messages", place, "sequence", 0)
    side = next(row for row in tampered.rows("turns") if row["id"] == story.side)
    place = tampered.set("turns", side[tampered.place], "parent_turn_id", story.first)
    findings = tampered.ledger.verify().findings
    tampered.set("turns", place, "parent_turn_id", story.second)
    assert findings[0].row == story.side
    assert {"its root or depth does not follow from its parent", "its segment does not follow from its parent"} <= {
        finding.what for finding in findings
    }


def test_a_fork_that_leaves_elsewhere_is_found(tampered: Tampered) -> None:
    segment = next(row for row in tampered.rows("segments") if row["parent_segment_id"] is not None)
    place = tampered.set("segments", segment[tampered.place], "fork_depth", segment["fork_depth"] - 1)
    findings = tampered.ledger.verify().findings
    tampered.set("segments", place, "fork_depth", segment["fork_depth"])
    assert tampered.story.side in {finding.row for finding in findings}


@pytest.mark.parametrize("column", ["segment_id", "started_at", "sequence", "kept_json"])
def test_a_value_of_another_kind_is_found_and_does_not_stop_verify(
    filled: tuple[str, Story], column: str, tmp_path: Path
) -> None:
    if filled[0].startswith("postgresql"):
        return  # its columns take their own kind only
    table = {"sequence": "messages", "kept_json": "compactions"}.get(column, "turns")
    shutil.copy(filled[0].removeprefix("sqlite:///"), tmp_path / "copy.db")
    with closing(Tampered(f"sqlite:///{tmp_path / 'copy.db'}", filled[1])) as tampered:
        for value in (b"\xff\x00", "words", "[1", 1.5):
            tampered.set(table, tampered.rows(table)[0][tampered.place], column, value)
            assert not tampered.ledger.verify().is_good


def test_a_tail_that_is_cut_off_cleanly_is_not_seen_and_one_that_is_not_is(
    filled: tuple[str, Story], tmp_path: Path
) -> None:
    """Without a checkpoint kept elsewhere, a ledger that ends earlier looks like one that has not gone on yet."""
    if filled[0].startswith("postgresql"):
        return  # nothing of it depends on the engine
    shutil.copy(filled[0].removeprefix("sqlite:///"), tmp_path / "copy.db")
    with Ledger.open(f"sqlite:///{tmp_path / 'copy.db'}") as ledger:
        before = ledger.session("side")
        turn_id = ledger.append("side", Turn(messages=(Message("user", "the last words"),)))
    with closing(Tampered(f"sqlite:///{tmp_path / 'copy.db'}", filled[1])) as tampered:
        last = int(tampered.run("SELECT max(seq) FROM log")[0][0])
        steps = [
            ("DELETE FROM log WHERE seq = ?", last),
            ("DELETE FROM session_history WHERE id = ?", last),
            ("UPDATE sessions SET updated_at = ? WHERE label = 'side'", before.updated_at),
            ("UPDATE sessions SET thread_id = ? WHERE label = 'side'", before.thread_id),
            ("DELETE FROM log WHERE seq = ?", last - 1),
            ("DELETE FROM messages WHERE turn_id = ?", turn_id),
            ("DELETE FROM turns WHERE id = ?", turn_id),
            ("UPDATE turns SET has_children = 0 WHERE id = ?", before.thread_id),
        ]
        seen = []
        for sql, value in steps:
            tampered.run(sql, value)
            seen.append(not tampered.ledger.verify().is_good)
        # the fourth step leaves the turn as a branch that no session points at: that can be so
        assert seen == [True, True, True, False, True, True, True, False]


def test_flipped_bits_are_noticed_or_harmless_and_never_more_than_an_error_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock, path, copy = Clock(), tmp_path / "ledger.db", tmp_path / "copy.db"
    with Ledger.open(f"sqlite:///{path}", env=fixed_env(clock)) as ledger:
        fill(ledger, clock)
        whole = everything(ledger)
    raw = path.read_bytes()
    spans = used_cells(path)
    rng = random.Random(21)  # noqa: S311 - the same bits each time
    noticed = 0
    for _ in range(FLIPS):
        start, end = rng.choice(spans)
        changed = bytearray(raw)
        changed[rng.randrange(start, end)] ^= 1 << rng.randrange(8)
        copy.write_bytes(changed)
        try:
            with Ledger.open(f"sqlite:///{copy}", readonly=True) as ledger:
                is_good = ledger.verify().is_good
                assert not is_good or everything(ledger) == whole, "a silent wrong answer"
                noticed += not is_good
        except LedgerError:
            noticed += 1
    with capsys.disabled():
        print(f"\n{noticed} of {FLIPS} flipped bits in the pages of the record were noticed")  # noqa: T201
    assert noticed >= FLIPS * 0.8


def everything(ledger: Ledger) -> list[list[tuple[Any, ...]]]:
    return [ledger.database.query(f"SELECT * FROM {table} ORDER BY 1")[1] for table in RECORD]  # noqa: S608


def used_cells(path: Path) -> list[tuple[int, int]]:
    """Where in the file the content of the record's tables lies, without the free space of the pages."""
    with closing(apsw.Connection(str(path))) as file:
        sql = f"SELECT pageno, pgsize, pgsize - unused FROM dbstat WHERE name IN ({', '.join('?' for _ in RECORD)})"  # noqa: S608
        pages: list[tuple[Any, ...]] = list(file.execute(sql, RECORD))
    # cells grow from the end of a page towards its head
    return [(number * size - used + 100, number * size) for number, size, used in pages if used > 200]
