"""T1: SIGKILL at a random moment, again and again, with one to eight writers; and proof that it would be noticed."""

from pathlib import Path

import apsw
import pytest

from agents_ledger.store.group import Job
from agents_ledger.store.sqlite import SqliteDatabase
from agents_ledger.store.sqlite_tx import SqliteTx
from tests.conftest import UrlSource
from tests.crash.harness import SOAK, Broken, Plan, campaign, seed
from tests.support.databases import PostgresServer

# (writers, kills in the ordinary suite, kills in a soak): 300 and 5,000 together
CAMPAIGNS = [(1, 40, 600), (2, 60, 1000), (4, 80, 1400), (8, 120, 2000)]


@pytest.mark.parametrize(("writers", "few", "many"), CAMPAIGNS)
def test_what_was_acknowledged_survives_kill_9(writers: int, few: int, many: int, tmp_path: Path) -> None:
    kills = many if SOAK else few
    counts = campaign(Plan(kills, writers, seed()), UrlSource(tmp_path, None))
    assert counts.kills == kills
    assert counts.acked > 0
    assert counts.hot_wals > 0, "no kill left a write-ahead log behind: the rounds end too gently to prove anything"
    assert (counts.lost, counts.torn) == (0, 0)


def test_what_was_acknowledged_survives_kill_9_of_clients_of_postgresql(server: PostgresServer) -> None:
    kills = 500 if SOAK else 50
    counts = campaign(Plan(kills, 5, seed(), longest_s=0.250), server.new_url)
    assert counts.kills == kills
    assert counts.acked > 0
    assert (counts.lost, counts.torn) == (0, 0)


def test_the_harness_notices_an_acknowledgement_before_the_commit(tmp_path: Path) -> None:
    plan = Plan(40, 1, seed(), only_append=True, plant=acknowledge_before_commit)
    with pytest.raises(Broken, match="acknowledged, but lost") as noticed:
        campaign(plan, UrlSource(tmp_path, None))
    assert noticed.value.counts.lost > 0


def test_the_harness_notices_a_writer_without_transactions(tmp_path: Path) -> None:
    plan = Plan(40, 1, seed(), only_append=True, plant=write_without_transactions)
    with pytest.raises(Broken) as noticed:
        campaign(plan, UrlSource(tmp_path, None))
    assert noticed.value.counts.torn > 0


def acknowledge_before_commit() -> None:
    """A planted fault (in the child only): five bodies share a commit, each returns before it."""
    done = 0

    def run(self: SqliteDatabase, jobs: list[Job]) -> None:
        nonlocal done
        connection = _writer(self)
        if not connection.in_transaction:
            connection.execute("BEGIN IMMEDIATE")
        jobs[0].result = jobs[0].body(SqliteTx(connection))
        done += 1
        if done % 5 == 0:
            connection.execute("COMMIT")

    pytest.MonkeyPatch().setattr(SqliteDatabase, "_run", run)


def write_without_transactions() -> None:
    """A planted fault (in the child only): every statement commits by itself."""

    def run(self: SqliteDatabase, jobs: list[Job]) -> None:
        connection = _writer(self)
        connection.execute("PRAGMA foreign_keys=OFF")  # a turn comes after its parts, in one transaction
        jobs[0].result = jobs[0].body(SqliteTx(connection))

    pytest.MonkeyPatch().setattr(SqliteDatabase, "_run", run)


def _writer(database: SqliteDatabase) -> apsw.Connection:
    return database._usable_writer()  # noqa: SLF001 - a fault is planted where the commit is made
