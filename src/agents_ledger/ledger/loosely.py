"""Turns in which the words are spread, or not all of them: what follows when few have them all in one place."""

from collections.abc import Iterable, Iterator
from typing import Any

from agents_ledger.ledger.conditions import Asked
from agents_ledger.ledger.without import left
from agents_ledger.model.queries import Query, Term
from agents_ledger.model.ranking import Newness, Ranked
from agents_ledger.model.stems import forms
from agents_ledger.store import Database, Tx
from agents_ledger.store.matching import any_of, noted_words, plain_words

_COMMON = 0.2  # a word in more than this part of all messages says nothing
_COUNTED = 20_000  # more matches than this are not ranked for a single word
_MOST = 1000  # matches of each word
MOST_TURNS = 400
_TERMS = 16
_ASKED = 1.3  # what people ask says more about a turn than what is said in it
_SPREAD = 0.25  # what words count that stand elsewhere in a turn than where most of them are


def matches(database: Database, tx: Tx, query: Query, conditions: Asked, newness: Newness) -> list[Ranked]:
    """Turns by the part of them in which the words say most, and a little by the words in their other parts."""
    if len(query.wanted) == 1 and len(forms(query.wanted[0])) == 1:
        return []  # there is no other way to say it
    terms = _telling(database, tx, query)
    parts: dict[tuple[str, int], float] = {}
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for term in terms:
        best: dict[str, float] = {}
        for number, turn_id, score in _scored(database, tx, query, conditions, term):
            parts[turn_id, number] = parts.get((turn_id, number), 0.0) + score
            best[turn_id] = max(score, best.get(turn_id, 0.0))
        for turn_id, score in best.items():
            sums[turn_id] = sums.get(turn_id, 0.0) + score
            counts[turn_id] = counts.get(turn_id, 0) + 1
    tops: dict[str, tuple[float, int]] = {}
    for (turn_id, number), score in parts.items():
        tops[turn_id] = max((score, number), tops.get(turn_id, (0.0, 0)))
    ranked = [
        Ranked(
            turn_id,
            number,
            (score + _SPREAD * (sums[turn_id] - score)) * newness.of(turn_id),
            is_partial=counts[turn_id] < len(query.wanted),
        )
        for turn_id, (score, number) in tops.items()
    ]
    ranked.sort(key=lambda each: (-each.score, each.turn_id))
    return ranked[:MOST_TURNS]


def telling(database: Database, tx: Tx, terms: Iterable[Term], least: int = 1) -> list[tuple[int, Term]]:
    """The terms that tell turns apart, the rarest first, each with the number of its matches.

    Words that are everywhere tell nothing; one with fewer matches than `least` is not everywhere.
    """
    limit = min(max(int(tx.value("part_count") * _COMMON) + 1, least), _COUNTED)
    counted: list[tuple[int, Term]] = []
    for term in terms:
        words = any_of(database.dialect, [(term.text, term.is_prefix)], (), plain_words)
        if words:
            counted.append((tx.value("match_count", words=words, most=limit), term))
    return sorted((each for each in counted if each[0] < limit), key=lambda each: each[0])


def _telling(database: Database, tx: Tx, query: Query) -> list[Term]:
    """The terms of a query that tell turns apart."""
    if query.is_special:
        return list(query.wanted)[:_TERMS]
    return [term for _, term in telling(database, tx, query.wanted[: 4 * _TERMS])[:_TERMS]]


def _scored(
    database: Database, tx: Tx, query: Query, conditions: Asked, term: Term
) -> Iterator[tuple[int, str, float]]:
    """(number, turn, score) of the parts that have a term in one of its forms."""
    more: dict[str, Any]
    if query.is_special:
        words = any_of(database.dialect, [(term.text, term.is_prefix)], query.excluded, noted_words)
        name, more = "found_special_where", {"top": (1 << 62) - 1, **conditions.params}
    else:
        words = any_of(database.dialect, forms(term), query.excluded, plain_words)
        name, more = ("best_parts_where", conditions.params) if conditions.is_bound else ("best_parts", {})
    if words:
        rows = tx.rows(name, words=words, most=_MOST, **more)
        for number, turn_id, score, role in left(database, tx, query, rows, is_matched=True):
            yield number, turn_id, score * _ASKED if role == "user" else score
