"""A harness that has never failed proves nothing: each planted fault must be found by the state machine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import agents_ledger
from tests.machine.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copy_of_the_package(tmp_path: Path) -> Path:
    """The package in a folder of its own."""
    shutil.copytree(Path(agents_ledger.__file__).parent, tmp_path / "agents_ledger")
    return tmp_path


@pytest.fixture(scope="module")
def judge() -> Iterator[Callable[[Path], int]]:
    """Gives 1 if the state machine finds a difference in a folder's package (see tests/machine/judge.py)."""
    command = [sys.executable, "-m", "tests.machine.judge"]
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        questions, answers = running.stdin, running.stdout
        assert questions is not None
        assert answers is not None

        def ask(folder: Path) -> int:
            print(folder, file=questions, flush=True)
            return int(answers.readline())

        yield ask


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_state_machine_finds(mutant: Mutant, copy_of_the_package: Path, judge: Callable[[Path], int]) -> None:
    file = copy_of_the_package / "agents_ledger" / mutant.file
    text = file.read_text("utf-8")
    assert text.count(mutant.old) == 1, "the code has changed: plant the fault anew"
    file.write_text(text.replace(mutant.old, mutant.new), "utf-8")
    code = judge(copy_of_the_package)
    said = (copy_of_the_package / "said").read_text("utf-8")
    assert code == 1, f"not found:\n{said}"
    assert ": " in said
