"""Search without words: the sessions with the newest turns under some conditions, page by page."""

from collections.abc import Iterator

from agents_ledger.ledger import showing
from agents_ledger.ledger.conditions import Asked
from agents_ledger.model.hits import Group
from agents_ledger.model.ids import LAST
from agents_ledger.model.queries import Query
from agents_ledger.model.ranking import Ranked
from agents_ledger.store import Tx

SCANNED = 20_000  # newest messages and calls that are read where no index helps
_PIECE = 2000  # turns that are read at once

Turns = list[tuple[str, str, int | None]]  # turn, session, the number of the message or call to show


def newest(
    tx: Tx, query: Query, conditions: Asked, unwanted: set[str], *, skip: int, limit: int
) -> tuple[tuple[Group, ...], bool]:
    """So many sessions after those that were shown, and whether there are more."""
    by_home: dict[str, list[Ranked]] = {}
    rank, is_least = 0, False
    for piece in _by_parts(tx, conditions) if _is_of_parts(conditions) else _by_turns(tx, conditions):
        if len(by_home) > skip + limit:
            is_least = True
            break
        for turn_id, home, number in piece:
            if turn_id not in unwanted:
                by_home.setdefault(home, []).append(Ranked(turn_id, number, 1 / (60 + rank)))
                rank += 1
    shown = list(by_home.values())[skip : skip + limit]
    groups = showing.newest_groups(tx, shown, each=showing.hits_of_each(query, limit), is_least=is_least)
    return groups, len(by_home) > skip + limit


def _is_of_parts(conditions: Asked) -> bool:
    """Whether it matters which message or call of a turn is shown."""
    return conditions.of_parts or conditions.not_roles


def _by_parts(tx: Tx, conditions: Asked) -> Iterator[Turns]:
    """The turns of the newest messages and calls that fulfil the conditions, at once."""
    rows = tx.rows("found_newest", most=SCANNED, **conditions.params)
    # the last one of a turn is shown: a message says more about it than a call, and the newest most
    rows.sort(key=lambda row: (row[0] % 2 == 0, row[0]))
    found = {turn_id: (home, number) for number, turn_id, _, home in rows}
    yield [(turn_id, *found[turn_id]) for turn_id in sorted(found, reverse=True)]


def _by_turns(tx: Tx, conditions: Asked) -> Iterator[Turns]:
    """The newest turns, piece by piece."""
    before = LAST
    while rows := tx.rows("found_turns", before=before, most=_PIECE, **conditions.params):
        yield [(turn_id, home, None) for turn_id, home in rows]
        if len(rows) < _PIECE:
            return
        before = rows[-1][0]
