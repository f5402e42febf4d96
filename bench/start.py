"""How long a person waits for `ldg --help`."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from bench.figures import Row, Setup, at_most, best, ms, seconds


def start_rows(setup: Setup) -> Iterator[Row]:
    """The command's help against a Python that does nothing."""
    if find_spec("agents_ledger.cli.main") is None:
        yield Row("start", "ldg --help", "not built", "")
        return
    command = [*_command(), "--help"]
    nothing = [sys.executable, "-c", "pass"]
    for each in (command, nothing):
        subprocess.run(each, check=True, capture_output=True)
    pairs = [best(1, lambda: _time(command), lambda: _time(nothing)) for _ in range(setup.pick(25, 10))]
    ours, python = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    added = (ours - python) * 1000
    yield at_most("start", "ldg --help", ms(ours), f"{ms(python)} python -c pass", added, 80, "ms more")


def _command() -> list[str]:
    script = Path(sys.executable).with_name("ldg")
    return [str(script)] if script.exists() else [sys.executable, "-m", "agents_ledger.cli.main"]


def _time(command: list[str]) -> float:
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True))
