"""What the commands that move pointers do and say."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from agents_ledger import Ledger, Message, Turn
from tests.cli.conftest import Ldg

OLD = min((Path(__file__).parents[1] / "old").glob("*.db"))


def test_fork_makes_a_session_and_says_how_to_go_on(ldg: Ldg) -> None:
    root = ldg.json("tree", "fix-login")["trees"][0]["root_id"]
    made = ldg.json("fork", root[-8:], "--label", "third")["session"]
    assert (made["label"], made["thread_id"]) == ("third", root)
    assert "begins at" in ldg.text("fork", root)


def test_rewind_and_forward_undo_each_other(ldg: Ldg) -> None:
    head = ldg.json("head", "fix-login")["turn_id"]
    move = ldg.json("rewind", "fix-login", "--turns", "2")["move"]
    assert (move["reason"], move["from_thread_id"]) == ("rewind", head)
    assert ldg.json("forward", "fix-login")["move"]["thread_id"] == head
    assert ldg.text("rewind", "fix-login").startswith("rewind: fix-login moved from")
    assert f"`ldg --db {ldg.url} history fix-login`" in ldg.text("forward", "fix-login")
    first = ldg.json("tree", "fix-login")["trees"][0]["root_id"]
    assert ldg.json("rewind", "fix-login", first[-10:])["move"]["thread_id"] == first
    assert ldg.json("forward", "fix-login", head[-10:])["move"]["thread_id"] == head


def test_archive_and_unarchive(ldg: Ldg) -> None:
    assert ldg.json("archive", "another-way")["session"]["status"] == "archived"
    assert "archived" in ldg.text("archive", "another-way")
    assert ldg.json("rewind", "another-way", code=2)["error"]["kind"] == "SessionArchived"
    assert ldg.json("unarchive", "another-way")["session"]["status"] == "active"
    assert ldg.text("unarchive", "another-way") == "another-way is active\n"


def test_alias_and_merge(ldg: Ldg) -> None:
    assert ldg.json("alias", "mail:ada", "another-way")["alias"]["session_label"] == "another-way"
    assert ldg.text("alias", "mail:bob", "another-way") == "mail:bob leads to another-way\n"
    assert ldg.json("merge", "another-way", "fix-login")["session"]["label"] == "fix-login"
    assert ldg.json("head", "mail:ada")["turn_id"] == ldg.json("head", "fix-login")["turn_id"]
    ldg.text("fork", "fix-login", "--label", "other")
    assert "lead to fix-login" in ldg.text("merge", "other", "fix-login")


def test_a_merged_session_says_where_it_leads_and_where_its_own_turns_are(ldg: Ldg) -> None:
    own = ldg.json("head", "another-way")["turn_id"]
    moves = ldg.json("history", "another-way")
    ldg.text("merge", "another-way", "fix-login")
    assert "archived, leads to fix-login" in ldg.text("sessions")
    assert ldg.json("history", "another-way") == moves
    told = "another-way leads to fix-login now"
    assert ldg.text("history", "another-way").startswith(f"{told}; these are its own movements\n")
    first, *rest = ldg.text("show", "another-way").splitlines()
    assert first.startswith(told)
    assert f"`ldg --db {ldg.url} history another-way`" in first
    assert f"`ldg --db {ldg.url} show {own[-8:]}`" in first
    assert rest == ldg.text("show", "fix-login").splitlines()
    assert ldg.json("show", "another-way")["former"]["thread_id"] == own
    assert "leads" not in ldg.text("show", "fix-login").splitlines()[0]


def test_compact_takes_its_summary_from_anywhere(ldg: Ldg, tmp_path: Path) -> None:
    (tmp_path / "summary.txt").write_text("from a file")
    made = ldg.json("compact", "another-way", "--summary", f"@{tmp_path / 'summary.txt'}", "--keep", "1")["turn_id"]
    compaction = ldg.json("show", made)["record"]["compaction"]
    assert (compaction["summary"], compaction["trigger"]) == ("from a file", "manual")
    assert "compacted" in ldg.text("compact", "another-way", "--summary", "-", stdin="from a pipe")
    assert ldg.json("context", "another-way")["context"]["summary"] == "from a pipe"
    assert "it is empty" in ldg.text("compact", "another-way", "--summary", "-", stdin=" ", code=2)
    assert "No such file" in ldg.text("compact", "another-way", "--summary", "@/no/such/file", code=2)


def test_demo_is_told_once(ldg: Ldg, empty: Ldg) -> None:
    assert ldg.json("demo") == {"added": 0, "sessions": []}
    assert ldg.text("demo", "--if-empty").startswith("nothing to do")
    assert empty.text("demo", "--if-empty").startswith("added 13 turns in 3 sessions")
    assert ldg.text("verify").startswith("good: 13 turns")


def test_backup_makes_a_ledger_and_never_overwrites(ldg: Ldg, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    assert ldg.json("backup", str(target)) == {"target": str(target), "size_bytes": target.stat().st_size}
    assert Ldg(str(target)).json("verify")["good"]
    assert "never overwrites" in ldg.text("backup", str(target), code=2)
    assert "wrote" in ldg.text("backup", str(tmp_path / "second.db"))


def test_a_backup_can_be_read_by_its_owner_only(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "pg_dump"  # one that fits any server
    program.write_text('#!/bin/sh\nfor given; do case "$given" in --file=*) echo x >"${given#--file=}";; esac; done\n')
    program.chmod(0o755)
    (tmp_path / "pg_restore").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    ldg, target, before = Ldg(url), tmp_path / "copy.db", os.umask(0o022)
    try:
        ldg.open().close()
        ldg.text("backup", str(target))
        assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("copy.db*")} == {0o600}
        if not url.startswith("postgresql"):
            with Ledger.open(str(target)) as copy:
                copy.append("main", Turn(messages=(Message("user", "x"),)))
                assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("copy.db*")} == {0o600}
    finally:
        os.umask(before)


def test_a_backup_goes_to_a_path_or_to_the_url_of_a_file(ldg: Ldg, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    assert ldg.json("backup", f"sqlite:///{target}")["target"] == str(target)
    assert "name its path" in ldg.text("backup", "postgresql://localhost/copy", code=2)
    assert "name a file in a folder" in ldg.text("backup", str(tmp_path / "none" / "copy.db"), code=2)
    assert "name a file in a folder" in ldg.text("backup", str(target / "copy.db"), code=2)


def test_an_older_ledger_is_copied_as_it_is(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    shutil.copy(OLD, old)
    ldg, target = Ldg(str(old)), tmp_path / "copy.db"
    assert "of an older version" in ldg.text("backup", str(target))
    for path in (old, target):
        assert Ldg(str(path)).json("migrate", "--check", code=1)["pending"]
    Ldg(str(target)).text("migrate")
    assert Ldg(str(target)).json("verify")["good"]
    (tmp_path / "empty.db").touch()
    assert "is empty" in Ldg(str(tmp_path / "empty.db")).text("backup", str(tmp_path / "none.db"), code=2)


def test_a_command_that_migrates_the_ledger_says_so(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    shutil.copy(OLD, old)
    ldg = Ldg(str(old))
    label = sqlite3.connect(old).execute("SELECT label FROM sessions WHERE thread_id IS NOT NULL").fetchone()[0]
    done = ldg.run("fork", label, "--label", "mine", "--json")
    assert done.exit_code == 0
    assert "of an older version and is up to date now" in done.stderr
    assert json.loads(done.stdout)
    assert ldg.run("fork", label, "--label", "again").stderr == ""
    assert Ldg(str(tmp_path / "new.db")).run("demo").stderr == ""


def test_migrate_has_nothing_to_do_on_a_new_ledger(ldg: Ldg) -> None:
    assert ldg.json("migrate", "--check") == {"pending": []}
    assert ldg.json("migrate") == {"applied": []}
    assert ldg.text("migrate") == "the ledger is up to date\n"


def test_migrate_brings_an_empty_database_up_to_date(tmp_path: Path) -> None:
    (tmp_path / "new.db").touch()
    new = Ldg(str(tmp_path / "new.db"))
    pending = new.json("migrate", "--check", code=1)["pending"]
    assert pending
    assert f"`ldg --db {tmp_path / 'new.db'} migrate`" in new.text("sessions", code=2)
    assert new.json("migrate")["applied"] == pending
    assert new.json("sessions") == {"sessions": [], "next": None}
