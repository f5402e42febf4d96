"""Leases of writers on other machines, as tests need them."""

from msgspec.structs import asdict

from agents_ledger.model.rows import LeaseRow
from agents_ledger.model.times import now_ms
from agents_ledger.store import Tx


def give_lease(tx: Tx, held: LeaseRow, now: int | None = None) -> None:
    """Puts a lease in the place of the one that its turn has; `now` is what the clock of its writer says."""
    tx.run("drop_lease", turn_id=held.turn_id)
    tx.run("insert_lease", **asdict(held), now=now_ms() if now is None else now)
