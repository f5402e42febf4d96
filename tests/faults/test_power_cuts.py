"""T3: the power is cut at any moment; and proof that a ledger that does not wait for the disk would be noticed."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from agents_ledger.store.sqlite import SqliteDatabase
from tests.crash.harness import SOAK
from tests.faults.actions import ACTIONS
from tests.faults.power_cuts import Broken, PowerCuts, seed, soak

# Different images of each action in the ordinary suite, and in a soak; and how often the action is done in one run.
PLANS = {
    "create": (600, 40_000, 1),
    "append": (800, 130_000, 6),
    "live turn": (800, 100_000, 2),
    "fork": (600, 20_000, 3),
    "compact": (650, 60_000, 2),
    "sync": (600, 60_000, 2),
    "backup": (550, 40_000, 1),
    "migrate": (650, 60_000, 1),
    "restore": (500, 40_000, 1),
}
Record = Callable[[str, object], None]


def test_the_plans_are_for_every_action_and_large_enough() -> None:
    assert PLANS.keys() == ACTIONS.keys()
    assert sum(few for few, _, _ in PLANS.values()) >= 5_000
    assert sum(many for _, many, _ in PLANS.values()) >= 500_000


@pytest.mark.parametrize("name", ACTIONS)
def test_what_was_acknowledged_survives_a_power_cut(name: str, tmp_path: Path, record_property: Record) -> None:
    few, many, rounds = PLANS[name]
    first = seed()
    if SOAK:
        counts = soak(name, tmp_path, first, many, rounds)
        assert counts.images >= many
    else:
        counts = PowerCuts(ACTIONS[name], tmp_path, first, rounds).judge(few)
        assert counts.images >= few
    assert counts.syncs > 0
    assert counts.acked > 0
    record_property("fault line", f"power cuts, {name}: seed {first}, {counts}")
    record_property("fault images", counts.images)


@pytest.mark.parametrize("level", ["OFF", "NORMAL"])
@pytest.mark.parametrize("name", ["append", "live turn"])
def test_a_ledger_that_does_not_wait_for_the_disk_is_noticed(
    name: str, level: str, tmp_path: Path, record_property: Record
) -> None:
    cuts = PowerCuts(ACTIONS[name], tmp_path, seed(), 3, plant=lambda: synchronous(level))
    with pytest.raises(Broken) as noticed:
        cuts.judge(100)
    counts = noticed.value.counts
    assert counts.lost > 0
    record_property("fault line", f"power cuts, {name}, control synchronous={level}: {counts} (as it must be)")


def synchronous(level: str) -> None:
    """A planted fault (in the child only): every connection is opened as usual, and then waits less for the disk."""
    connect = SqliteDatabase._connect  # noqa: SLF001 - a fault is planted where connections are opened

    def _connect(self: SqliteDatabase, *args: int, **rest: bool) -> apsw.Connection:
        connection = connect(self, *args, **rest)
        connection.execute(f"PRAGMA synchronous={level}")
        return connection

    pytest.MonkeyPatch().setattr(SqliteDatabase, "_connect", _connect)
