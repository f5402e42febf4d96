"""Sources that can't be looked at for a while: what is said of them, and that it is not said for longer."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from agents_ledger.capture import databases
from agents_ledger.capture.intake import Intake
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, MACHINE, copy, opened, rows, sync
from tests.capture.hostile_lines import entry, header, written

_NOBODY = 65534
Close = Callable[[Path], None]


@pytest.fixture
def close(tmp_path: Path) -> Iterator[Close]:
    """Closes a file or folder; root, for whom nothing is closed, goes on as nobody."""
    was_root = not os.geteuid()
    closed: list[tuple[Path, int]] = []

    def one(path: Path) -> None:
        closed.append((path, path.stat().st_mode & 0o777))
        path.chmod(0)
        if was_root and os.geteuid() == 0:
            for each in (tmp_path, *tmp_path.rglob("*")):
                os.chown(each, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)

    yield one
    if was_root:
        os.seteuid(0)
    for path, mode in closed:
        if path.exists():
            path.chmod(mode)


def sessions(tmp_path: Path) -> Path:
    """Sessions of pi in a folder of a folder."""
    copy(GOLDEN / "pi/v3/source", tmp_path / "all" / "inner")
    return tmp_path / "all"


def test_a_folder_that_is_closed_is_a_problem_and_what_is_in_it_is_not_gone(tmp_path: Path, close: Close) -> None:
    folder = sessions(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        assert sync(ledger, folder).new == len(rows(ledger, "SELECT 1 FROM captures"))
        close(folder / "inner")
        done = sync(ledger, folder)
        assert (done.gone, done.unreadable, done.problems) == (0, [str(folder / "inner")], 1)
        assert not rows(ledger, "SELECT 1 FROM captures WHERE state <> 'current'")
        said = {"path": str(folder / "inner"), "code": "unreadable", "detail": "Permission denied"}
        assert said in rows(ledger, "SELECT path, code, detail FROM problems")


@pytest.mark.parametrize("closed", [".claude", ".claude/projects", ".claude/projects/-w"])
def test_a_place_of_an_agent_that_is_closed_is_a_problem(closed: str, tmp_path: Path, close: Close) -> None:
    copy(GOLDEN / "claude-code/chat-with-tools/source", tmp_path / ".claude" / "projects" / "-w")
    with opened(tmp_path / "ledger.db") as ledger:
        worker = Sync(ledger, Machine(home=str(tmp_path), environ={}, platform="linux"))
        assert worker.run().new > 0
        close(tmp_path / closed)
        done = worker.run()
        assert (done.gone, done.problems) == (0, len(done.unreadable))
        assert any(path.startswith(str(tmp_path / closed)) for path in done.unreadable)


@pytest.mark.parametrize("name", ["", "one.jsonl"], ids=["folder", "file"])
def test_what_is_open_again_is_no_problem(name: str, tmp_path: Path, close: Close) -> None:
    folder = sessions(tmp_path)
    written(folder / "inner" / "one.jsonl", header("one"), entry("a", None))
    with opened(tmp_path / "ledger.db") as ledger:
        assert not rows(ledger, "SELECT * FROM problems")
        close(folder / "inner" / name)
        assert sync(ledger, folder).unreadable == [str(folder / "inner" / name)]
        assert len(rows(ledger, "SELECT * FROM problems")) == 1
        sync(ledger, folder)
        assert len(rows(ledger, "SELECT * FROM problems")) == 1
        (folder / "inner" / name).chmod(0o700)
        assert sync(ledger, folder).new > 0
        assert not rows(ledger, "SELECT * FROM problems")


def test_a_folder_that_is_open_again_with_nothing_new_is_no_problem(tmp_path: Path, close: Close) -> None:
    folder = sessions(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        worker = Sync(ledger, MACHINE)
        worker.run([str(folder)])
        assert not rows(ledger, "SELECT * FROM problems")
        for run in (worker.run, Sync(ledger, MACHINE).run):
            close(folder / "inner")
            run([str(folder)])
            assert len(rows(ledger, "SELECT * FROM problems")) == 1
            (folder / "inner").chmod(0o700)
            run([str(folder)])
            assert not rows(ledger, "SELECT * FROM problems")


def test_what_was_closed_and_is_gone_is_no_problem(tmp_path: Path, close: Close) -> None:
    folder = sessions(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        assert not rows(ledger, "SELECT * FROM problems")
        close(folder / "inner")
        sync(ledger, folder)
        (folder / "inner").chmod(0o700)
        (folder / "inner").rename(tmp_path / "away")
        sync(ledger, folder)
        assert not rows(ledger, "SELECT * FROM problems")


def test_a_database_that_was_locked_is_no_problem_when_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_BUSY_MS", 1)
    copy(GOLDEN / "cursor/new-composers/source", tmp_path / "all")
    path = tmp_path / "all" / "User" / "globalStorage" / "state.vscdb"
    with opened(tmp_path / "ledger.db") as ledger:
        owner = apsw.Connection(str(path))
        owner.pragma("journal_mode", "delete")
        owner.execute("BEGIN EXCLUSIVE")
        assert sync(ledger, path).unreadable == [str(path)]
        owner.execute("COMMIT")
        owner.close()
        assert sync(ledger, path).new == 1
        assert not rows(ledger, "SELECT * FROM problems WHERE place = -1")


def test_what_is_recognised_after_all_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "projects" / "-w" / "one.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("no session\n")
    with opened(tmp_path / "ledger.db") as ledger:
        worker = Sync(ledger, Machine(home=str(tmp_path), environ={}, platform="linux"))
        worker.run()
        worker.run()
        assert [row["code"] for row in rows(ledger, "SELECT code FROM problems")] == ["not-recognised"]
        path.write_bytes(min((GOLDEN / "claude-code/chat-with-tools/source").rglob("*.jsonl")).read_bytes())
        assert worker.run().new == 1
        assert not rows(ledger, "SELECT code FROM problems")


def test_what_a_writer_says_has_changed_is_not_gone_where_its_folder_is_closed(tmp_path: Path, close: Close) -> None:
    folder = sessions(tmp_path)
    (path,) = map(str, (folder / "inner").rglob("*.jsonl"))
    with opened(tmp_path / "ledger.db") as ledger:
        intake = Intake(ledger, "pi")
        intake.take([path])
        close(folder / "inner")
        intake.take([path])
        assert rows(ledger, "SELECT state FROM captures") == [{"state": "current"}]
