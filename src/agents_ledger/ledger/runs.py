"""The sorted runs of the search index, as SQLite keeps them: a search looks into each of them.

Usually they are merged little by little, while they are written. Where hundreds of megabytes are fed at once, the same
work makes one run out of all of them, if it is done at the end.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agents_ledger.store import Database, Tx

_USUALLY = {"automerge": 8, "crisismerge": 16}  # the first as the schema has it
_WAITING = {"automerge": 0, "crisismerge": 64}
_PAGES = 500  # that are written in one commit; four times as many leave a hundredth of the file behind as free pages


@contextmanager
def merged_at_the_end(database: Database) -> Iterator[None]:
    """Leaves the runs as they come, and makes one of them; after an error they are merged as usual."""
    database.write(lambda tx: _settle(tx, _WAITING))
    try:
        yield
        database.write(lambda tx: tx.run("merge_runs", pages=-_PAGES))  # all of them, whatever they are made of
        while database.write(_merge_more):
            pass
    finally:
        database.write(lambda tx: _settle(tx, _USUALLY))


def tend(database: Database) -> None:
    """Lets runs be merged as usual again, if somebody who fed much was killed."""
    with database.read() as tx:
        is_waiting = tx.value("run_setting", setting="automerge") == _WAITING["automerge"]
    if is_waiting:
        database.write(lambda tx: _settle(tx, _USUALLY))


def _merge_more(tx: Tx) -> bool:
    """Merges a little more; whether there was something to merge."""
    before = tx.value("run_structure")
    tx.run("merge_runs", pages=_PAGES)
    return bool(tx.value("run_structure") != before)


def _settle(tx: Tx, settings: dict[str, int]) -> None:
    for setting, value in settings.items():
        tx.run("set_runs", setting=setting, value=value)
