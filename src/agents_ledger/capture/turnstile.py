"""One sync at a time: numbers of captures are given out by one process, and nothing is read twice.

A watch has the right to sync for as long as it runs, but it rests between its rounds: then others may take single files
(see `intake`). A number that grows with whatever was taken tells each of them whether what it knows is still so.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agents_ledger.errors import StoreBusy
from agents_ledger.ledger import Env, Ledger, lease
from agents_ledger.store import Tx

_FACT = "sync_writer"
_TAKEN = "sync_taken"
_RESTS = "rests"
_SIGHTINGS = "sync_sightings"
_PATIENCE_MS = 60 * lease.TTL_MS  # with a sync on another machine that shows no sign of life
IN_DOUBT = "captures_in_doubt"  # what is still to be reconsidered


@contextmanager
def alone(ledger: Ledger, *, rests: bool = False) -> Iterator[None]:
    """The right to sync this ledger; refused while another living process has it. Who `rests` is in no round yet."""
    try:
        ledger.database.write(lambda tx: _enter(tx, ledger, f" {_RESTS}" if rests else ""))
    except StoreBusy:
        ledger.database.write(lambda tx: _watch(tx, ledger.env))
        raise
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
        ledger.database.write(lambda tx: _leave(tx, f"{ledger.writer} {_time(tx, ledger.env)} {_RESTS}"))


def is_busy(tx: Tx, env: Env) -> bool:
    """Whether a living process is in the middle of a sync."""
    held = tx.value("fact", name=_FACT)
    return bool(held) and not held.endswith(_RESTS) and not _is_dead(tx, env, held)


def taken(tx: Tx) -> int:
    """How often something was taken from sources."""
    return int(tx.value("fact", name=_TAKEN) or 0)


def take(tx: Tx) -> None:
    """Says that something was taken."""
    tx.run("put_fact", name=_TAKEN, value=str(taken(tx) + 1))


def _enter(tx: Tx, ledger: Ledger, state: str) -> None:
    held = tx.value("fact", name=_FACT)
    if held and held.split(" ")[0] != ledger.writer and not _is_dead(tx, ledger.env, held):
        process = held.split("|")[1]
        raise StoreBusy(
            f"another sync (process {process}) is at work on this ledger: it takes what is new; "
            "wait for it, or stop it first"
        )
    tx.run("put_fact", name=_FACT, value=f"{ledger.writer} {_time(tx, ledger.env)}{state}")


def _wake(tx: Tx, ledger: Ledger) -> None:
    tx.run("put_fact", name=_FACT, value=f"{ledger.writer} {_time(tx, ledger.env)}")
    take(tx)


def _leave(tx: Tx, value: str) -> None:
    tx.run("put_fact", name=_FACT, value=value)
    take(tx)


def _is_dead(tx: Tx, env: Env, held: str) -> bool:
    """Whether a sync can't be at work any more: on another machine, if nothing has changed for an hour."""
    writer, since, *_ = held.split(" ")
    if lease.is_here(writer):
        return lease.has_ended(writer)
    time = lease.server_time(tx)
    if time is not None:
        return int(since) + _PATIENCE_MS < time
    return lease.unchanged_ms(tx, env, _SIGHTINGS, _FACT, _sign(tx, held)) > _PATIENCE_MS


def _watch(tx: Tx, env: Env) -> None:
    """Keeps what a sync on another machine looks like now: the next one here compares."""
    held = tx.value("fact", name=_FACT)
    if held and not lease.is_here(held.split(" ")[0]) and lease.server_time(tx) is None:
        lease.sight(tx, env, _SIGHTINGS, [(_FACT, _sign(tx, held))])


def _sign(tx: Tx, held: str) -> str:
    return f"{held} {taken(tx)}"


def _time(tx: Tx, env: Env) -> int:
    """When this is: by the clock that is compared."""
    time = lease.server_time(tx)
    return env.now() if time is None else time
