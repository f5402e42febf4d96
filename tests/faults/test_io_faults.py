"""T2: every I/O operation of every action fails once, in each way in which it can."""

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.faults.actions import ACTIONS
from tests.faults.io_faults import run_faults

# In how many tests the faults of an action are judged, so that no process is left alone with them at the end.
PARTS = {
    "create": 3,
    "append": 1,
    "live turn": 3,
    "fork": 2,
    "compact": 1,
    "sync": 3,
    "backup": 2,
    "migrate": 3,
    "restore": 3,
}
SLICES = [(name, part) for name, parts in PARTS.items() for part in range(parts)]


def test_every_action_has_its_parts() -> None:
    assert PARTS.keys() == ACTIONS.keys()


@pytest.mark.parametrize(("name", "part"), SLICES)
def test_a_fault_of_the_disk_loses_nothing_and_is_told(
    name: str, part: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    # in a small process: each fault takes a fork, and to fork a test runner of 500 MB takes longer than the action
    with get_context("spawn").Pool(1) as small:
        counts = small.apply(run_faults, (name, tmp_path, part, PARTS[name]))
    assert counts.faults > 0
    assert counts.refused > 0
    assert counts.died > 0
    part_of = f" (part {part + 1} of {PARTS[name]})" if PARTS[name] > 1 else ""
    record_property("fault line", f"I/O faults, {name}{part_of}: {counts}")
    record_property("fault runs", counts.faults)
