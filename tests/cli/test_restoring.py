"""Logs that a deleted ledger leaves behind, and backups that take a ledger's place.

SQLite replays a `-wal` into any database of that name. A killed writer leaves one; when only the database is deleted,
the next ledger of that name had the deleted conversation in it, or was damaged.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import BadInput, NotALedger, NotFound, StoreBusy, StoreCorrupt
from agents_ledger.ledger.backups import back_up
from agents_ledger.ledger.restore import restore
from agents_ledger.store import sidecars
from agents_ledger.store.sqlite import SqliteDatabase
from tests.cli.conftest import Ldg
from tests.crash.processes import run_all

TURNS = (3, 40, 300)
SIDECARS = ("-wal", "-shm", "-journal")
OLD = Path(__file__).parents[1] / "old"


def say(text: str) -> Turn:
    return Turn(messages=(Message("user", text), Message("assistant", f"{text} " * 50)))


def killed_writer(path: Path, turns: int, word: str) -> None:
    """Writes turns in a child process that is killed: the log stays."""
    child = os.fork()
    if not child:
        try:
            ledger = Ledger.open(str(path))
            for number in range(turns):
                ledger.append("main", say(f"{word} {number}"))
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert path.with_name(f"{path.name}-wal").stat().st_size


def written(path: Path, turns: int, word: str) -> Path:
    with Ledger.open(str(path)) as ledger:
        for number in range(turns):
            ledger.append("main", say(f"{word} {number}"))
    return path


def said(path: Path) -> list[str]:
    """What users said in a ledger that is good."""
    with Ledger.open(str(path), readonly=True) as ledger:
        assert ledger.verify().findings == []
        rows = ledger.database.query("SELECT content FROM messages WHERE role = 'user' ORDER BY id")[1]
    return [str(text) for (text,) in rows]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# a log without its database


@pytest.mark.parametrize("turns", TURNS)
def test_a_new_ledger_has_nothing_of_a_deleted_one(tmp_path: Path, turns: int) -> None:
    path = tmp_path / "a.db"
    killed_writer(path, turns, "deleted")
    stale = path.with_name("a.db-wal").read_bytes()
    path.unlink()
    with Ledger.open(str(path)) as ledger:
        moved = ledger.database.set_aside
        assert ledger.counts()["turns"] == 0
        ledger.append("main", say("mine"))
        assert ledger.verify().findings == []
    assert said(path) == ["mine"]
    assert [Path(each).name[-4:] for each in moved] == ["-wal", "-shm"]
    assert Path(moved[0]).read_bytes() == stale, "the log is kept under the name that was given"


@pytest.mark.parametrize("turns", TURNS)
def test_a_backup_has_nothing_of_a_deleted_one(tmp_path: Path, turns: int) -> None:
    killed_writer(tmp_path / "b.db", turns, "deleted")
    (tmp_path / "b.db").unlink()
    ldg = Ldg(str(written(tmp_path / "a.db", 5, "mine")))
    answer = ldg.json("backup", str(tmp_path / "b.db"))
    assert len(answer["set_aside"]) == 2
    assert all(Path(each).exists() for each in answer["set_aside"])
    assert said(tmp_path / "b.db") == [f"mine {number}" for number in range(5)]


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("case", ["missing", "killed", "emptied", "cut", "closed"])
def test_a_restored_ledger_has_nothing_of_the_replaced_one(tmp_path: Path, turns: int, case: str) -> None:
    backup = tmp_path / "backup.db"
    back_up(str(written(tmp_path / "other.db", 5, "mine")), str(backup))
    path = tmp_path / "a.db"
    killed_writer(path, turns, "replaced")
    if case == "missing":
        path.unlink()
    elif case == "emptied":
        os.truncate(path, 0)
    elif case == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif case == "closed":
        Ledger.open(str(path)).close()
    done = restore(str(backup), str(path))
    assert said(path) == [f"mine {number}" for number in range(5)]
    with Ledger.open(str(path)) as ledger:
        assert ledger.database.facts()["journal_mode"] == "wal"
        ledger.append("main", say("more"))
    assert said(path)[-1] == "more"
    if case == "missing":
        assert done.kept is None
        assert len(done.set_aside) == 2
    else:
        assert done.kept is not None
        assert f"{path.name}.replaced-" in done.kept
        assert Path(done.kept).exists()
    if case in ("killed", "closed"):
        assert len(said(Path(done.kept or ""))) == turns, "the replaced ledger is whole under its new name"
    if case in ("emptied", "cut"):
        assert Path(f"{done.kept}-wal").stat().st_size, "a damaged ledger keeps its log beside it"


@pytest.mark.parametrize("suffix", SIDECARS)
def test_every_kind_of_leftover_is_renamed_and_named(tmp_path: Path, suffix: str) -> None:
    leftover = tmp_path / f"a.db{suffix}"
    leftover.write_bytes(b"left over")
    ldg = Ldg(str(tmp_path / "a.db"))
    done = ldg.run("demo")
    assert done.exit_code == 0
    moved = Path(done.stderr.strip().removeprefix("ldg: left over from a deleted ledger, renamed: "))
    assert moved.read_bytes() == b"left over"
    assert not leftover.exists() or leftover.read_bytes() != b"left over"
    assert ldg.json("verify")["turns"] == 13


def test_the_log_of_a_killed_writer_stays_with_its_own_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    killed_writer(path, 40, "acknowledged")
    with Ledger.open(str(path)) as ledger:
        assert ledger.database.set_aside == ()
        assert ledger.counts()["turns"] == 40
        assert ledger.verify().findings == []


def test_an_emptied_ledger_is_refused_and_its_log_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    killed_writer(path, 3, "emptied")
    os.truncate(path, 0)
    size = path.with_name("a.db-wal").stat().st_size
    for readonly in (False, True):
        with pytest.raises(StoreCorrupt, match=r"is empty, but .*-wal is not.*ldg restore BACKUP"):
            Ledger.open(str(path), readonly=readonly)
    assert path.with_name("a.db-wal").stat().st_size == size


def test_a_ledger_that_was_deleted_while_it_was_open_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Ledger.open(str(path)) as ledger:
        path.unlink()
        with pytest.raises(Exception, match="can't open"):
            ledger.append("main", say("x"))
        assert not path.exists()


def test_a_ledger_behind_a_link_has_nothing_of_a_deleted_one(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    path, link = tmp_path / "data" / "a.db", tmp_path / "link.db"
    killed_writer(path, 40, "deleted")
    path.unlink()
    link.symlink_to(path)
    with Ledger.open(str(link)) as ledger:
        ledger.append("main", say("mine"))
    assert link.is_symlink()
    assert said(path) == said(link) == ["mine"]
    back_up(str(path), str(tmp_path / "b.db"))
    assert restore(str(tmp_path / "b.db"), str(link)).kept is not None
    assert link.is_symlink()


def test_an_exported_database_has_nothing_of_a_deleted_one(tmp_path: Path, home: Path) -> None:
    ldg = Ldg(str(tmp_path / "a.db"))
    ldg.text("sync")
    found = [each for each in ldg.json("captures", "--limit", "500")["captures"] if each["shape"] == "database"]
    target = tmp_path / "exported.db"
    writer = apsw.Connection(str(target))
    writer.execute("PRAGMA journal_mode=WAL; CREATE TABLE deleted (a)").fetchall()
    for suffix in SIDECARS[:2]:
        shutil.copy(f"{target}{suffix}", tmp_path / f"kept{suffix}")
    writer.close()
    target.unlink()
    for suffix in SIDECARS[:2]:
        (tmp_path / f"kept{suffix}").rename(f"{target}{suffix}")
    ldg.text("export", str(found[0]["id"]), "--output", str(target))
    reader = apsw.Connection(str(target))
    assert reader.execute("PRAGMA integrity_check").get == "ok"
    assert reader.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'deleted'").get == 0
    reader.close()


# races


def make_and_write(path: Path, number: int, pipe: int) -> None:
    with Ledger.open(str(path)) as ledger:
        for turn in range(3):
            ledger.append(f"session-{number}", say(f"{number}.{turn}"))
            os.write(pipe, f"{number}.{turn}\n".encode())


@pytest.mark.parametrize("leftover", [True, False])
def test_processes_that_make_the_same_ledger_at_once_lose_nothing(tmp_path: Path, leftover: bool) -> None:
    for number in range(6):
        path = tmp_path / f"{number}.db"
        if leftover:
            killed_writer(path, 3, "deleted")
            path.unlink()
        works = [partial(make_and_write, path, each) for each in range(6)]
        lines = run_all([*works])
        assert sorted(said(path)) == sorted(lines)
        assert len(lines) == 18
        stale = [name for name in names(tmp_path) if name.startswith(f"{number}.db.stale-")]
        assert len(stale) == (2 if leftover else 0), "a log that is in use was taken for a leftover"


def test_a_log_is_not_touched_when_its_database_appears_a_moment_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process publishes and writes between the look for the ledger and the making of a new one."""
    path = tmp_path / "a.db"
    real = sidecars.publish_database

    def later(partial: Path, final: Path) -> tuple[str, ...] | None:
        if not final.exists():
            monkeypatch.setattr(sidecars, "publish_database", real)
            killed_writer(path, 3, "first")
        return real(partial, final)

    monkeypatch.setattr(sidecars, "publish_database", later)
    with Ledger.open(str(path)) as ledger:
        ledger.append("main", say("second"))
        assert ledger.database.set_aside == ()
    assert said(path) == ["first 0", "first 1", "first 2", "second"]


# restoring


def test_a_ledger_in_use_is_never_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "a.db", 3, "live")
    back_up(str(path), str(tmp_path / "b.db"))
    for readonly in (False, True):
        with Ledger.open(str(path), readonly=readonly):
            before = path.stat()
            with pytest.raises(StoreBusy, match="is in use"):
                restore(str(tmp_path / "b.db"), str(path))
            command = [str(Path(sys.executable).with_name("ldg")), "--db", str(path), "restore", str(tmp_path / "b.db")]
            other = subprocess.run(command, capture_output=True, text=True, check=False)
            assert other.returncode == 2
            assert "is in use" in other.stderr
            assert path.stat().st_ino == before.st_ino
    assert said(path) == ["live 0", "live 1", "live 2"]
    assert not any("replaced" in name or "partial" in name for name in names(tmp_path))


def test_a_backup_that_is_not_good_replaces_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "a.db", 3, "live")
    bad = tmp_path / "bad.db"
    back_up(str(written(tmp_path / "other.db", 40, "needle")), str(bad))
    raw = bad.read_bytes()
    bad.write_bytes(raw.replace(b"needle 17", b"needlf 17"))
    before = names(tmp_path)
    ldg = Ldg(str(path))
    told = ldg.text("restore", str(bad), code=2)
    assert "is not good" in told
    assert "stays as it is" in told
    bad.write_bytes(raw[: len(raw) // 2])
    assert "stays as it is" in ldg.text("restore", str(bad), code=2) or "damaged" in ldg.text(
        "restore", str(bad), code=2
    )
    assert said(path) == ["live 0", "live 1", "live 2"]
    assert names(tmp_path) == before


@pytest.mark.parametrize("damage", [b"", b"Dear diary,\n" * 500, b"SQLite format 3\x00" * 300])
def test_a_damaged_ledger_is_replaced_and_kept(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "a.db"
    back_up(str(written(path, 3, "mine")), str(tmp_path / "b.db"))
    path.write_bytes(damage)
    ldg = Ldg(str(path))
    assert "ldg --db" in ldg.text("sessions", code=2)
    assert "restore BACKUP`" in ldg.text("sessions", code=2)
    told = ldg.json("restore", str(tmp_path / "b.db"))
    assert told["turns"] == 3
    assert Path(told["kept"]).read_bytes() == damage
    assert said(path) == ["mine 0", "mine 1", "mine 2"]


def test_what_is_no_backup_or_no_ledger_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.db", 1, "live")
    back_up(str(path), str(tmp_path / "b.db"))
    with pytest.raises(NotFound, match="there is no file"):
        restore(str(tmp_path / "none.db"), str(path))
    with pytest.raises(BadInput, match="is the ledger itself"):
        restore(str(path), str(path))
    (tmp_path / "text").write_text("Dear diary,\n" * 100)
    with pytest.raises(NotALedger):
        restore(str(tmp_path / "text"), str(path))
    with pytest.raises(BadInput, match="pg_restore --dbname"):
        restore(str(tmp_path / "b.db"), "postgresql://localhost/ledger")
    other = apsw.Connection(str(tmp_path / "recipes.db"))
    other.execute("CREATE TABLE recipes (a)").fetchall()
    other.close()
    with pytest.raises(NotALedger, match=r"other tables \(recipes\)"):
        restore(str(tmp_path / "b.db"), str(tmp_path / "recipes.db"))
    assert said(path) == ["live 0"]


def test_an_older_backup_is_brought_up_to_date(tmp_path: Path) -> None:
    old = next(iter(sorted(OLD.glob("*.db"))))
    shutil.copy(old, tmp_path / "old.db")
    done = restore(str(tmp_path / "old.db"), str(tmp_path / "a.db"))
    assert done.migrated
    assert done.report.turns
    with Ledger.open(str(tmp_path / "a.db")) as ledger:
        assert ledger.database.migrated == ()
        assert ledger.verify().findings == []


def test_the_rights_of_the_replaced_ledger_stay(tmp_path: Path) -> None:
    path = written(tmp_path / "a.db", 1, "live")
    back_up(str(path), str(tmp_path / "b.db"))
    path.chmod(0o660)
    restore(str(tmp_path / "b.db"), str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    restore(str(tmp_path / "b.db"), str(tmp_path / "new.db"))
    assert stat.S_IMODE((tmp_path / "new.db").stat().st_mode) == 0o600


def test_the_old_form_of_restore_explains(ldg: Ldg) -> None:
    told = ldg.text("restore", "another-way", code=2)
    assert f"use: ldg --db {ldg.url} unarchive another-way" in told
    assert "there is no file" in ldg.text("restore", "nothing-of-this-name", code=2)


def test_a_connection_that_was_opened_while_the_file_was_replaced_uses_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.db", 3, "old")
    back_up(str(written(tmp_path / "other.db", 2, "new")), str(tmp_path / "b.db"))
    real = apsw.Connection
    done: list[str | None] = []

    def replaced_after_opening(name: str, **options: object) -> apsw.Connection:
        connection = real(name, **options)  # type: ignore[arg-type]
        if name == str(path) and not done:
            done.append("")
            done[0] = restore(str(tmp_path / "b.db"), str(path)).kept
        return connection

    monkeypatch.setattr("agents_ledger.store.sqlite.apsw.Connection", replaced_after_opening)
    database = SqliteDatabase(str(path), readonly=True)
    with database.read() as tx:
        assert tx.rows("counts")[0][1] == 2
    database.close()
    assert done[0]
    assert len(said(Path(done[0]))) == 3


FILE_CALLS = ("link", "unlink", "rename", "replace", "fsync", "chmod")


def dying_at(step: int, work: Callable[[], object]) -> bool:
    """Does something in a child that dies just before its nth call that changes names or syncs; whether it died."""
    child = os.fork()
    if not child:
        left = step

        def counted(real: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **options: object) -> object:
                nonlocal left
                left -= 1
                if not left:
                    os._exit(9)
                return real(*args, **options)

            return call

        try:
            for name in FILE_CALLS:
                setattr(os, name, counted(getattr(os, name)))
            work()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize("case", ["closed", "killed", "damaged", "missing"])
def test_whoever_dies_in_the_middle_of_a_restore_leaves_the_old_ledger_or_the_new_one(
    tmp_path: Path, case: str
) -> None:
    backup = tmp_path / "backup.db"
    back_up(str(written(tmp_path / "other.db", 2, "new")), str(backup))
    (tmp_path / "before").mkdir()
    path = tmp_path / "before" / "a.db"
    killed_writer(path, 5, "old")
    if case == "closed":
        Ledger.open(str(path)).close()
    elif case == "damaged":
        path.write_bytes(b"Dear diary,\n" * 500)
    elif case == "missing":
        path.unlink()
    seen = set[str]()
    for step in range(1, 100):
        path = shutil.copytree(tmp_path / "before", tmp_path / str(step)) / "a.db"
        if not dying_at(step, lambda path=path: restore(str(backup), str(path))):  # type: ignore[misc]
            break
        if case in ("closed", "killed"):
            assert path.exists()
        now = said(path) if path.exists() and path.read_bytes()[:4] != b"Dear" else ["no ledger"]
        assert now in ([f"old {number}" for number in range(5)], ["new 0", "new 1"], ["no ledger"])
        assert case in ("damaged", "missing") or now != ["no ledger"]
        seen.add(now[0])
        restore(str(backup), str(path))
        assert said(path) == ["new 0", "new 1"]
    else:
        raise AssertionError("it never ends")
    assert step > 4
    assert len(seen) == 2, "it died before the ledger was replaced, and after"


def test_whoever_dies_while_a_ledger_is_made_leaves_none_or_a_good_one(tmp_path: Path) -> None:
    for step in range(1, 100):
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / "a.db"
        killed_writer(path, 3, "deleted")
        path.unlink()
        if not dying_at(step, lambda path=path: Ledger.open(str(path)).close()):  # type: ignore[misc]
            break
        with Ledger.open(str(path)) as ledger:
            assert ledger.counts()["turns"] == 0
            ledger.append("main", say("mine"))
        assert said(path) == ["mine"]
    else:
        raise AssertionError("it never ends")
    assert step > 4


# backups


@pytest.mark.parametrize("made", ["backup", "copy"])
def test_verify_leaves_nothing_beside_a_backup(tmp_path: Path, made: str) -> None:
    path = written(tmp_path / "a.db", 3, "mine")
    folder = tmp_path / "backups"
    folder.mkdir()
    if made == "backup":
        back_up(str(path), str(folder / "b.db"))
    else:  # of a ledger at rest, or by an older version: its header asks for a log
        shutil.copy(path, folder / "b.db")
    before = (folder / "b.db").read_bytes()
    ldg = Ldg(str(folder / "b.db"))
    for command in (["verify"], ["sessions"], ["sql", "SELECT 1"], ["doctor"]):
        ldg.text(*command)
        assert names(folder) == {"b.db"}
    assert (folder / "b.db").read_bytes() == before


@pytest.mark.parametrize("made", ["backup", "copy"])
def test_verify_reads_a_backup_on_a_medium_that_can_not_be_written(tmp_path: Path, made: str) -> None:
    path = written(tmp_path / "a.db", 3, "mine")
    folder = tmp_path / "medium"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip("only root can mount here")
    try:
        back_up(str(path), str(folder / "b.db")) if made == "backup" else shutil.copy(path, folder / "b.db")
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        assert Ldg(str(folder / "b.db")).json("verify")["good"]
        assert names(folder) == {"b.db"}
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_backup_in_a_folder_of_somebody_else_is_verified(tmp_path: Path) -> None:
    """It needs no file beside it, so it can be read where nothing can be made."""
    path = written(tmp_path / "a.db", 3, "mine")
    back_up(str(path), str(tmp_path / "b.db"))
    connection = apsw.Connection(str(tmp_path / "b.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("PRAGMA journal_mode").get == "delete"
    connection.close()
    with Ledger.open(str(tmp_path / "b.db")) as ledger:
        assert ledger.database.facts()["journal_mode"] == "wal", "a ledger in use has a log"


def test_a_backup_of_a_changed_ledger_says_that_it_is_not_good(ldg: Ldg, tmp_path: Path) -> None:
    connection = apsw.Connection(ldg.url.removeprefix("sqlite:///"))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.execute("UPDATE messages SET content = 'I never said this' WHERE role = 'user'").fetchall()
    connection.close()
    assert ldg.json("backup", str(tmp_path / "b.db"), code=1)["findings"]
    told = ldg.text("backup", str(tmp_path / "c.db"), code=1)
    assert "not good" in told
    assert f"`ldg --db {ldg.url} verify`" in told
    assert (tmp_path / "c.db").exists()
