"""What is read of openclaw's database: sessions out of rows, wherever openclaw has put them; and nothing else."""

import json
import os
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture import export, groups
from agents_ledger.capture.catalog import captures_of
from agents_ledger.capture.databases import Groups, copied
from agents_ledger.capture.resuming import opened
from agents_ledger.capture.sync import Sync
from agents_ledger.formats.pi import FORMAT
from agents_ledger.formats.pi.given import long_id, wrote
from agents_ledger.formats.pi.names import marked, marker
from agents_ledger.formats.pi.tables import tables
from agents_ledger.ledger.records import said_digest
from agents_ledger.model import zstd
from agents_ledger.model.formats import Machine
from tests.capture.folders import assert_sound, rows
from tests.capture.folders import opened as new_ledger
from tests.formats import openclaw_rows as db

KEY = "agent:main:explicit:s1"
QUESTIONS = ("one", "two", "x" * 2000)


def synced(ledger: Ledger, home: Path) -> int:
    """One sync of a home; how many turns were new."""
    return Sync(ledger, Machine(str(home), {}, "linux")).run().new_turns


def asked(ledger: Ledger, label: str) -> list[str]:
    """What was asked in a session, from its root to its head."""
    path = ledger.path(ledger.head(label) or "")
    found = [row.content or "" for turn in path for row in ledger.get(turn.id).messages if row.role == "user"]
    return [words[:5] for words in found]


def codes(ledger: Ledger) -> list[str]:
    return [str(row["code"]) for row in rows(ledger, "SELECT code FROM problems ORDER BY code")]


def test_rows_are_read_as_lines_are(tmp_path: Path, ledger: Ledger) -> None:
    path = db.database(tmp_path)
    db.session(path, "s1", KEY, db.chat("s1", *QUESTIONS))
    assert (synced(ledger, tmp_path), synced(ledger, tmp_path)) == (3, 0)
    assert asked(ledger, KEY) == ["one", "two", "xxxxx"]
    (line,) = ledger.sessions(limit=5)
    assert (line.session.label, line.session.routing_key) == ("openclaw:s1", KEY)
    db.append(path, "s1", db.chat("s1", *QUESTIONS, "four")[-2:])
    os.utime(path, (2_000_000_000, 2_000_000_000))
    assert synced(ledger, tmp_path) == 1
    assert asked(ledger, "openclaw:s1")[-1] == "four"
    assert codes(ledger) == []
    assert_sound(ledger)


def test_other_tables_are_never_read(tmp_path: Path, ledger: Ledger) -> None:
    path = db.database(tmp_path)
    db.session(path, "s1", KEY, db.chat("s1", "one"))
    synced(ledger, tmp_path)
    assert db.SECRET.encode() in path.read_bytes()
    taken = b"".join(b"".join(export.raw(ledger, capture)) for capture in captures_of(ledger, "openclaw:s1"))
    assert b"To one" in taken
    assert db.SECRET.encode() not in taken


def test_a_session_that_moved_from_a_file_into_rows_is_one_history(tmp_path: Path, ledger: Ledger) -> None:
    lines = db.chat("s1", "one", "two", version=3)
    file = tmp_path / db.AGENT / "sessions" / "s1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\n".join(lines) + b"\n")
    assert synced(ledger, tmp_path) == 2
    archive = tmp_path / db.AGENT / "session-sqlite-import-archive" / "agent_main.s1.jsonl.imported-1794768331974"
    archive.parent.mkdir()
    file.rename(archive)
    path = db.database(tmp_path)
    db.session(path, "s1", KEY, [*lines, *db.chat("s1", "one", "two", "three")[-2:]])
    assert synced(ledger, tmp_path) == 1
    assert asked(ledger, "openclaw:s1") == ["one", "two", "three"]
    assert opened(ledger, KEY).path == str(path)  # and not what was put aside
    assert_sound(ledger)


@pytest.mark.parametrize("place", ["row", "packed row", "cold row", "cold file"])
def test_what_was_put_away_is_read_where_it_is(tmp_path: Path, ledger: Ledger, place: str) -> None:
    path, lines = db.database(tmp_path), db.chat("s1", "one", "two")
    whole, cold = b"\n".join(lines) + b"\n", db.frozen("s1", lines)
    if place == "cold file":
        file = tmp_path / db.AGENT / "sessions" / "cold" / "0a1b.jsonl.zst"
        file.parent.mkdir(parents=True)
        file.write_bytes(cold)
    elif place == "cold row":
        row = {"session_id": "s1", "generation": "g", "storage": "sqlite", "archive_blob": cold}
        db.insert(path, "session_transcript_cold_archives", row)
    else:
        blob = whole if place == "row" else zstd.compress(whole)
        row = {"session_id": "s1", "generation": "g", "reason": "deleted", "archive_blob": blob}
        db.insert(path, "session_transcript_archives", row)
    synced(ledger, tmp_path)
    assert asked(ledger, "openclaw:s1") == ["one", "two"]
    said = rows(ledger, "SELECT archive_source FROM session_details")
    assert said == [{"archive_source": "deleted" if place in ("row", "packed row") else None}]
    assert codes(ledger) == []


def test_a_subagent_is_linked_by_session_keys(tmp_path: Path, ledger: Ledger) -> None:
    path, key = db.database(tmp_path), "agent:main:subagent:0a1b"
    db.session(path, "s1", KEY, [*db.chat("s1", "one"), *db.called("s1", "assistant-0", key)])
    db.session(path, "a-child", key, db.chat("a-child", "look"), spawned_by=KEY)
    synced(ledger, tmp_path)
    (call,) = [call for turn in ledger.path(ledger.head("openclaw:s1") or "") for call in ledger.get(turn.id).calls]
    (child,) = [line.session for line in ledger.sessions(limit=5) if line.session.is_subagent]
    assert (child.label, child.parent_session_label, child.spawn_tool_call_id) == (
        "openclaw:a-child",
        "openclaw:s1",
        call.id,
    )
    assert ledger.head(call.spawned_session_label or "") == ledger.head("openclaw:a-child")
    (first,) = [row for turn in ledger.path(ledger.head(key) or "") for row in ledger.get(turn.id).messages][:1]
    assert first.source == "agent"


def test_rows_that_are_not_what_they_should_be_are_problems(tmp_path: Path, ledger: Ledger) -> None:
    path, lines = db.database(tmp_path), db.chat("s1", "one", "two")
    db.session(path, "s1", KEY, lines[:3])
    bomb = zstd.compress(b" " * (300 << 20))
    strange: list[db.Json] = [{"event_json": "{broken"}, {"event_json": None}, {"event_json": "[1]"}]
    strange += [{"event_zstd": b"\x28\xb5\x2f\xfdnothing"}, {"event_zstd": bomb[:-4]}, {"event_json": b"\xff\x00"}]
    for seq, row in enumerate(strange, 3):
        db.insert(path, "transcript_events", {"session_id": "s1", "seq": seq, **row})
    db.append(path, "s1", lines[3:])
    db.insert(path, "session_nodes", {"session_key": "k2", "current_session_id": "s1", "entry_json": "[]"})
    db.insert(path, "session_transcript_archives", {"session_id": "s1", "generation": "g", "archive_blob": bomb})
    synced(ledger, tmp_path)
    assert asked(ledger, "openclaw:s1") == ["one", "two"]
    found = codes(ledger)
    assert {"broken-line", "not-an-object", "bad-field", "unreadable", "too-large"} <= set(found)
    assert "reader-failed" not in found
    assert_sound(ledger)


def test_a_cold_file_of_nobody_is_a_problem(tmp_path: Path, ledger: Ledger) -> None:
    file = tmp_path / db.AGENT / "sessions" / "cold" / "0a1b.jsonl.zst"
    file.parent.mkdir(parents=True)
    told = b'{"kind":"header","version":1,"sessionId":"' + b"x" * 9000 + b'"}\n{"kind":"event","row":7}\n{broken\n'
    file.write_bytes(zstd.compress(told))
    assert synced(ledger, tmp_path) == 0
    assert codes(ledger) == ["missing-header"] * 3


def test_it_is_known_by_its_name_or_by_its_tables() -> None:
    head = b"SQLite format 3\0" + b"\0" * 100
    ours = head + b"CREATE TABLE transcript_events (\n  session_id TEXT NOT NULL,\n  seq INTEGER NOT NULL"
    found = {
        path: FORMAT.recognise(path, data)
        for path, data in {"/x/agent/openclaw-agent.sqlite": head, "/copy.db": ours, "/other.db": head}.items()
    }
    assert [kind and kind.name for kind in found.values()] == ["database", "database", None]


def test_sessions_in_a_database_are_named_as_openclaw_names_them() -> None:
    path = "/h/.openclaw/agents/work/agent/openclaw-agent.sqlite"
    assert marker(f"{path}#s1") == f"sqlite:work:s1:{path}"
    assert (marked(marker(f"{path}#s1")), marked("/h/s1.jsonl")) == ("s1", None)
    assert marker("/h/s#1.jsonl") == "/h/s#1.jsonl"


def test_ids_that_were_given_are_known_again() -> None:
    given = [long_id("s1", count) for count in (0, 1, 70_000)]
    assert [wrote("s1", name) for name in given] == ["s1"] * 3
    assert [wrote("s2", name) for name in given] == [None] * 3
    assert [wrote("s1", name) for name in ("", "0a1b2c3d", given[0][:-1] + "z")] == [None] * 3


def test_what_is_beside_the_entries_is_kept(tmp_path: Path, ledger: Ledger) -> None:
    path = db.database(tmp_path)
    db.session(path, "s1", KEY, db.chat("s1", "one"))
    db.insert(path, "session_windows", {"session_id": "s0", "session_key": KEY, "reason": "rollover"})
    db.append(path, "s0", db.chat("s0", "zero"))
    entry = json.dumps({"sessionId": "s2", "displayName": "A name", "channel": "telegram", "totalTokens": 9})
    row = {"session_key": "agent:main:telegram:direct:7", "current_session_id": "s2", "entry_json": entry}
    db.insert(path, "session_nodes", {**row, "fork_source_session_id": "s1", "created_at": 3})
    db.append(path, "s2", db.chat("s2", "two"))
    synced(ledger, tmp_path)
    sql = "SELECT session_label, title, channel, routing_key, forked_from, extra FROM session_details ORDER BY 1"
    found = {row["session_label"]: row for row in rows(ledger, sql)}
    assert found["openclaw:s0"]["routing_key"] == KEY
    told = found["openclaw:s2"]
    assert (told["title"], told["channel"], told["forked_from"]) == ("A name", "telegram", "s1")
    assert json.loads(str(told["extra"]))["entry"]["totalTokens"] == 9
    assert asked(ledger, KEY) == ["one"]  # the key leads to the session that has it now


def test_growing_row_by_row_says_the_same(tmp_path: Path) -> None:
    key = "agent:main:subagent:0a1b"
    lines = [*db.chat("s1", "one", "two"), *db.called("s1", "assistant-1", key)]
    told = []
    for name, steps in (("once", [lines]), ("grown", [[line] for line in lines])):
        home = tmp_path / "home"
        path = db.database(home)
        db.session(path, "s1", KEY)
        with new_ledger(tmp_path / f"{name}.db") as ledger:
            for tick, rows_ in enumerate(steps):
                db.append(path, "s1", rows_)
                os.utime(path, (2_000_000_000 + tick, 2_000_000_000 + tick))
                synced(ledger, home)
            thread = ledger.thread(ledger.head(KEY) or "")
            told.append((ledger.counts()["turns"], [(one.turn.id, said_digest(one)) for one in thread]))
            assert generations(ledger) == [1]  # the evidence has grown with it
            assert_sound(ledger)
        path.unlink()
    assert told[0] == told[1]


def test_rows_that_were_taken_away_or_changed_stay(tmp_path: Path, ledger: Ledger) -> None:
    path, lines = db.database(tmp_path), db.chat("s1", "one", "two", "three")
    db.session(path, "s1", KEY, lines)
    synced(ledger, tmp_path)
    db.execute(path, "DELETE FROM transcript_events WHERE seq > 4")
    db.execute(path, "UPDATE transcript_events SET event_json = replace(event_json, 'To two', 'To 2') WHERE seq = 4")
    os.utime(path, (2_000_000_000, 2_000_000_000))
    synced(ledger, tmp_path)
    assert generations(ledger) == [1, 2]
    said = {row["content"] for row in rows(ledger, "SELECT content FROM messages")}
    assert {"To two", "To 2", "three", "To three"} <= said
    assert_sound(ledger)


def test_rows_that_were_kept_and_not_read_are_read(tmp_path: Path, ledger: Ledger) -> None:
    path = db.database(tmp_path)
    db.session(path, "s1", KEY, db.chat("s1", "one"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(groups, "read", lambda *_: None)
        assert synced(ledger, tmp_path) == 0  # as if somebody had pressed Ctrl-C here
    os.utime(path, (2_000_000_000, 2_000_000_000))
    assert synced(ledger, tmp_path) == 1
    assert generations(ledger) == [1]


def generations(ledger: Ledger) -> list[object]:
    sql = "SELECT generation FROM captures WHERE path LIKE '%#s1' ORDER BY generation"
    return [row["generation"] for row in rows(ledger, sql)]


def test_what_has_changed_is_known_without_reading_it(tmp_path: Path) -> None:
    path = db.database(tmp_path)
    for name in ("s1", "s2"):
        db.session(path, name, f"agent:main:explicit:{name}", db.chat(name, "one"))
    before = stamps(path)
    assert sorted(before) == ["s1", "s1~session_nodes", "s2", "s2~session_nodes"]
    db.append(path, "s1", db.chat("s1", "one", "two")[-2:])
    db.execute(path, "UPDATE session_nodes SET updated_at = 9 WHERE current_session_id = 's2'")
    after = stamps(path)
    assert sorted(name for name in after if after[name] != before[name]) == ["s1", "s2~session_nodes"]
    db.execute(path, "ALTER TABLE session_windows DROP COLUMN updated_at")
    assert sorted(stamps(path)) == ["s1~session_nodes", "s2~session_nodes"]  # of others nobody can say


def stamps(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with copied(str(path)) as connection:
        return Groups(connection, tables()).stamps()
