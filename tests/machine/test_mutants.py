"""A harness that has never failed proves nothing: each planted fault must be found by the state machine."""

import os
import shutil
import subprocess
import sys
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


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.machine.mutants", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_state_machine_finds(mutant: Mutant, copy_of_the_package: Path) -> None:
    file = copy_of_the_package / "agents_ledger" / mutant.file
    text = file.read_text("utf-8")
    assert text.count(mutant.old) == 1, "the code has changed: plant the fault anew"
    file.write_text(text.replace(mutant.old, mutant.new), "utf-8")
    done = run(copy_of_the_package)
    assert done.returncode == 1, f"not found:\n{done.stdout}\n{done.stderr}"
    assert ": " in done.stdout
