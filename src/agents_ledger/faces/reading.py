"""Rows of the faces as typed values: all that a statement gives, or the first."""

from typing import Any, TypeVar

from msgspec import Struct

from agents_ledger.ledger import Ledger

Row = TypeVar("Row", bound=Struct)


def every(ledger: Ledger, row: type[Row], statement: str, **params: Any) -> list[Row]:
    """The rows of a named statement."""
    with ledger.database.read() as tx:
        return [row(*values) for values in tx.rows(statement, **params)]


def first(ledger: Ledger, row: type[Row], statement: str, **params: Any) -> Row | None:
    """The first of them; None if there is none."""
    with ledger.database.read() as tx:
        values = tx.first(statement, **params)
    return None if values is None else row(*values)
