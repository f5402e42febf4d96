"""Each golden folder reads as before. `make golden` writes what they read as now: look at the difference."""

import os
from pathlib import Path

import pytest

from tests.capture.dump import Dump
from tests.capture.folders import GOLDEN, Case, assert_sound, copy, names, opened, sync


@pytest.mark.parametrize("name", names())
def test_golden_folder_reads_as_before(name: str, tmp_path: Path) -> None:
    case = Case(GOLDEN / name)
    source = copy(case.source, tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        summary = sync(ledger, source)
        assert_sound(ledger)
        dump = Dump(ledger, source)
        made = {"entries.jsonl": dump.entries(), "problems.txt": dump.problems()}
    assert summary.sources.get(case.format), "no file of the folder was taken for what it is"
    for file, text in made.items():
        _compare(case.folder / file, text)


def _compare(path: Path, text: str) -> None:
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{path.parent.name} has no {path.name} yet: `make golden` writes it"
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()
