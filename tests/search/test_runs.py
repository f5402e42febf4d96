"""The runs of the search index: one after much was fed, merged as usual otherwise, and nothing is lost on the way."""

import pytest

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.errors import StoreFull
from agents_ledger.ledger import runs

_TIMES = 12


def feed(ledger: Ledger) -> None:
    for number in range(_TIMES):
        ledger.append("talk", Turn((Message("user", f"zebra number{number}"), Message("assistant", "common words"))))
        ledger.index()


def run_count(ledger: Ledger) -> int:
    """SQLite's; PostgreSQL has none."""
    if ledger.database.dialect != "sqlite":
        return 1
    return int(ledger.database.query("SELECT count(DISTINCT segid) FROM search_idx")[1][0][0])


def merging(ledger: Ledger) -> dict[str, int]:
    if ledger.database.dialect != "sqlite":
        return {"automerge": 8}
    return dict(ledger.database.query("SELECT k, v FROM search_config WHERE k = 'automerge'")[1])


def found(ledger: Ledger) -> list[int]:
    return [sum(len(g.hits) for g in ledger.search(f"zebra number{n}", limit=50).groups) for n in range(_TIMES)]


def test_a_batch_of_messages_and_calls_is_one_run(ledger: Ledger) -> None:
    """Messages and calls have numbers of their own: one after the other they would be two runs, to be merged later."""
    for number in range(20):
        said = (Message("user", f"zebra number{number}"), Message("assistant", "common words"))
        calls = tuple(Call("Shell", {"command": f"count {number}"}, {"exit": at}) for at in range(3))
        ledger.append("talk", Turn(said, calls))
    ledger.index()
    assert run_count(ledger) == 1


def test_what_was_fed_at_once_ends_up_in_one_run(ledger: Ledger) -> None:
    feed(ledger)
    assert run_count(ledger) > 1 or ledger.database.dialect != "sqlite"
    with runs.merged_at_the_end(ledger.database):
        feed(ledger)
    assert run_count(ledger) == 1
    assert merging(ledger) == {"automerge": 8}
    assert found(ledger) == [2] * _TIMES
    assert ledger.verify().is_good


def test_after_an_error_runs_are_merged_as_usual(ledger: Ledger) -> None:
    def feed_until_the_disk_is_full() -> None:
        with runs.merged_at_the_end(ledger.database):
            feed(ledger)
            raise StoreFull("no space left")

    with pytest.raises(StoreFull):
        feed_until_the_disk_is_full()
    assert merging(ledger) == {"automerge": 8}
    assert found(ledger) == [1] * _TIMES


def test_what_a_killed_feeder_has_set_is_put_right_by_the_next_one(ledger: Ledger) -> None:
    ledger.database.write(lambda tx: tx.run("set_runs", setting="automerge", value=0))  # and is killed
    if ledger.database.dialect == "sqlite":
        assert merging(ledger) == {"automerge": 0}
    runs.tend(ledger.database)
    assert merging(ledger) == {"automerge": 8}
    feed(ledger)
    assert found(ledger) == [1] * _TIMES
