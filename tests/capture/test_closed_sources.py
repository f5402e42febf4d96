"""Sources that can't be looked at for a while: what is said of them, and that it is not said for longer."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, copy, opened, rows, sync

_NOBODY = 65534
Close = Callable[[Path], None]


@pytest.fixture
def close(tmp_path: Path) -> Iterator[Close]:
    """Closes a file or folder; root, for whom nothing is closed, goes on as nobody."""
    was_root = not os.geteuid()
    closed: list[tuple[Path, int]] = []

    def one(path: Path) -> None:
        closed.append((path, path.stat().st_mode))
        path.chmod(0)
        if was_root and os.geteuid() == 0:
            for each in (tmp_path, *tmp_path.rglob("*")):
                os.chown(each, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)

    yield one
    if was_root:
        os.seteuid(0)
    for path, mode in closed:
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
