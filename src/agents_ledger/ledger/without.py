"""What a query takes away: messages, calls and turns that have a word which must not be there."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agents_ledger.model.queries import Query, Term
from agents_ledger.store import Database, Tx
from agents_ledger.store.matching import any_of, noted_words, plain_words

Row = tuple[Any, ...]


def unwanted_turns(database: Database, tx: Tx, query: Query) -> set[str]:
    """The turns in which a word stands that must not be there."""
    plain, noted = _expressions(database, query.excluded)
    rows = tx.rows("turns_with", words=plain) if plain else []
    return {row[0] for row in (rows + tx.rows("turns_noted_with", words=noted) if noted else rows)}


def left(database: Database, tx: Tx, query: Query, rows: list[Row], *, is_matched: bool) -> list[Row]:
    """Rows of messages and calls (their numbers first) without those that have a word which must not be there.

    What stands in the same index as the wanted words is gone already, if they were matched by an index.
    """
    terms = [term for term in query.excluded if not is_matched or term.is_noted != query.is_special]
    plain, noted = _expressions(database, terms)
    if not rows or not (plain or noted):
        return rows
    numbers = msgspec.json.encode([row[0] for row in rows]).decode()
    unwanted = {row[0] for row in tx.rows("parts_with", words=plain, numbers=numbers)} if plain else set[int]()
    if noted:
        unwanted |= {row[0] for row in tx.rows("parts_noted_with", words=noted, numbers=numbers)}
    return [row for row in rows if row[0] not in unwanted]


def _expressions(database: Database, terms: Sequence[Term]) -> tuple[str | None, str | None]:
    """Any of the terms, for the index of all texts and for that of special ones."""
    plain = [(term.text, term.is_prefix) for term in terms if not term.is_noted]
    noted = [(term.text, term.is_prefix) for term in terms if term.is_noted]
    return any_of(database.dialect, plain, (), plain_words), any_of(database.dialect, noted, (), noted_words)
