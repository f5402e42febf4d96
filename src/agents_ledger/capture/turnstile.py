"""One sync at a time: numbers of captures are given out by one process, and nothing is read twice.

A watch has the right to sync for as long as it runs, but it rests between its rounds: then others may take single files
(see `intake`). A number that grows with whatever was taken tells each of them whether what it knows is still so.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agents_ledger.errors import StoreBusy
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.lease import TTL_MS, is_dead
from agents_ledger.store import Tx

_FACT = "sync_writer"
_TAKEN = "sync_taken"
_RESTS = "rests"
IN_DOUBT = "captures_in_doubt"  # what is still to be reconsidered


@contextmanager
def alone(ledger: Ledger, *, rests: bool = False) -> Iterator[None]:
    """The right to sync this ledger; refused while another living process has it. Who `rests` is in no round yet."""
    ledger.database.write(lambda tx: _enter(tx, ledger, f" {_RESTS}" if rests else ""))
    try:
        yield
    finally:
        ledger.database.write(lambda tx: _leave(tx, ""))


@contextmanager
def awake(ledger: Ledger) -> Iterator[None]:
    """One round of who has the right already."""
    ledger.database.write(lambda tx: _wake(tx, ledger))
    try:
        yield
    finally:
        ledger.database.write(lambda tx: _leave(tx, f"{ledger.writer} {ledger.env.now()} {_RESTS}"))


def is_busy(tx: Tx, now: int) -> bool:
    """Whether a living process is in the middle of a sync."""
    held = tx.value("fact", name=_FACT)
    return bool(held) and not held.endswith(_RESTS) and not _is_dead(held, now)


def taken(tx: Tx) -> int:
    """How often something was taken from sources."""
    return int(tx.value("fact", name=_TAKEN) or 0)


def take(tx: Tx) -> None:
    """Says that something was taken."""
    tx.run("put_fact", name=_TAKEN, value=str(taken(tx) + 1))


def _enter(tx: Tx, ledger: Ledger, state: str) -> None:
    held = tx.value("fact", name=_FACT)
    now = ledger.env.now()
    if held and held.split(" ")[0] != ledger.writer and not _is_dead(held, now):
        process = held.split("|")[1]
        raise StoreBusy(
            f"another sync (process {process}) is at work on this ledger: it takes what is new; "
            "wait for it, or stop it first"
        )
    tx.run("put_fact", name=_FACT, value=f"{ledger.writer} {now}{state}")


def _wake(tx: Tx, ledger: Ledger) -> None:
    tx.run("put_fact", name=_FACT, value=f"{ledger.writer} {ledger.env.now()}")
    take(tx)


def _leave(tx: Tx, value: str) -> None:
    tx.run("put_fact", name=_FACT, value=value)
    take(tx)


def _is_dead(held: str, now: int) -> bool:
    from agents_ledger.model.rows import LeaseRow  # noqa: PLC0415 - only where another sync is at work, or was stopped

    writer, since, *_ = held.split(" ")
    return is_dead(LeaseRow("", "", writer, "", int(since) + 60 * TTL_MS), now)
