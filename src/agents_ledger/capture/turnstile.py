"""One sync at a time: numbers of captures are given out by one process, and nothing is read twice."""

from collections.abc import Iterator
from contextlib import contextmanager

from agents_ledger.errors import StoreBusy
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.lease import TTL_MS, is_dead
from agents_ledger.model.rows import LeaseRow
from agents_ledger.store import Tx

_FACT = "sync_writer"


@contextmanager
def alone(ledger: Ledger) -> Iterator[None]:
    """The right to sync this ledger; refused while another living process has it."""
    ledger.database.write(lambda tx: _enter(tx, ledger))
    try:
        yield
    finally:
        ledger.database.write(lambda tx: tx.run("put_fact", name=_FACT, value=""))


def _enter(tx: Tx, ledger: Ledger) -> None:
    held = tx.value("fact", name=_FACT)
    now = ledger.env.now()
    if held:
        writer, _, since = held.rpartition(" ")
        lease = LeaseRow("", "", writer, "", int(since) + 60 * TTL_MS)
        if writer != ledger.writer and not is_dead(lease, now):
            process = writer.split("|")[1]
            raise StoreBusy(
                f"another sync (process {process}) is at work on this ledger: it takes what is new; "
                "wait for it, or stop it first"
            )
    tx.run("put_fact", name=_FACT, value=f"{ledger.writer} {now}")
