"""Sources that went away and came back as they were: they are current again."""

from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.intake import Intake
from agents_ledger.capture.sync import Sync
from tests.capture.folders import GOLDEN, MACHINE, assert_sound, copy, counts, opened, rows, sync

_OF_EACH_SHAPE = ["pi/v3", "codex/packed", "agentuse/subagent", "cursor/new-composers"]


def states(ledger: Ledger) -> set[object]:
    return {row["state"] for row in rows(ledger, "SELECT DISTINCT state FROM captures")}


@pytest.mark.parametrize("name", _OF_EACH_SHAPE)
def test_what_is_back_is_current_again(name: str, tmp_path: Path) -> None:
    folder = copy(GOLDEN / name / "source", tmp_path / "all" / "inner")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, folder.parent)
        before = counts(ledger)
        folder.rename(tmp_path / "away")
        assert sync(ledger, folder.parent).gone > 0
        assert states(ledger) == {"gone"}
        (tmp_path / "away").rename(folder)
        done = sync(ledger, folder.parent)
        assert (done.unchanged, done.bytes_read) == (done.found, 0)
        assert states(ledger) == {"current"}
        assert counts(ledger) == before
        assert_sound(ledger)


@pytest.mark.parametrize("name", _OF_EACH_SHAPE)
def test_what_is_back_is_current_again_for_one_who_keeps_looking(name: str, tmp_path: Path) -> None:
    folder = copy(GOLDEN / name / "source", tmp_path / "all" / "inner")
    with opened(tmp_path / "ledger.db") as ledger:
        worker = Sync(ledger, MACHINE)
        for _ in range(2):
            worker.run([str(folder.parent)])
            assert states(ledger) == {"current"}
            folder.rename(tmp_path / "away")
            worker.run([str(folder.parent)])
            assert states(ledger) == {"gone"}
            (tmp_path / "away").rename(folder)


def test_what_a_writer_says_is_back_is_current_again(tmp_path: Path) -> None:
    folder = copy(GOLDEN / "pi/v3/source", tmp_path / "all")
    path = min(folder.rglob("*.jsonl"))
    with opened(tmp_path / "ledger.db") as ledger:
        intake = Intake(ledger, "pi")
        intake.take([str(path)])
        path.rename(tmp_path / "away")
        intake.take([str(path)])
        assert states(ledger) == {"gone"}
        (tmp_path / "away").rename(path)
        intake.take([str(path)])
        assert states(ledger) == {"current"}
