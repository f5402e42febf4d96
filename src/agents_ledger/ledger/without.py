"""What a query takes away: messages, calls and turns that have a word which must not be there."""

from collections.abc import Sequence

from agents_ledger.model.queries import Query, Term
from agents_ledger.store import Database, Tx
from agents_ledger.store.matching import any_of, noted_words, plain_words


def unwanted_turns(database: Database, tx: Tx, query: Query) -> set[str]:
    """The turns in which a word stands that must not be there."""
    plain, noted = _expressions(database, query.excluded)
    rows = tx.rows("turns_with", words=plain) if plain else []
    return {row[0] for row in (rows + tx.rows("turns_noted_with", words=noted) if noted else rows)}


def _expressions(database: Database, terms: Sequence[Term]) -> tuple[str | None, str | None]:
    """Any of the terms, for the index of all texts and for that of special ones."""
    plain = [(term.text, term.is_prefix) for term in terms if not term.is_noted]
    noted = [(term.text, term.is_prefix) for term in terms if term.is_noted]
    return any_of(database.dialect, plain, (), plain_words), any_of(database.dialect, noted, (), noted_words)
