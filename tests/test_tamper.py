"""Any change behind the ledger's back is found: each column of each table, with the guards switched off."""

import random
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from msgspec import Struct

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import LedgerError
from agents_ledger.store.statements import sql_folder
from tests.seed.rich import Clock, Story, fill, fixed_env

# Every table of the schema but those that are no part of the record.
SCHEMA = sql_folder().joinpath("schema.sql").read_text("utf-8")
# (`usages`, `captures`, `blocks`, `capture_blocks` and `superseded` have their own tests, on captured sources; `saves`
# have it in tests/faces.)
ELSEWHERE = ("usages", "captures", "blocks", "capture_blocks", "superseded", "saves")
NOT_RECORDED = {
    "leases": "who is writing now",
    "ledger_facts": "about the ledger itself",
    "problems": "made again by `rebuild`, as are the following",
    "steps": "where steps of sources are",
    "session_details": "what sources say of sessions; the newest counts",
    "session_captures": "which sources a session was read from",
    "search_notes": "made of other rows, for searching",
    "search_vectors": "as search_notes",
    "usage_slots": "sums of `usages`, made again from them",
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
    ("turns", "evidence"): "where it was read: the bytes there are verified, and what was read from them is sealed",
    ("turns", "session_label"): "a short way for questions; session_history, which is hashed, tells it too",
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
            for (name,) in self._file.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                self._file.execute(f"DROP TRIGGER {name}")
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
