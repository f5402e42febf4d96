"""Search: turns by words, ranked, grouped by session, page by page.

Ranking a word that stands in a million messages costs as much as reading them, so it is done in windows: the newest
matches are ranked, then, if somebody turns the pages that far, those before them. A session is shown once, with the
first window that has a hit of it: what older windows have of it is not counted, and said not to be.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from agents_ledger.errors import BadInput
from agents_ledger.ledger import loosely, meaning, showing, without
from agents_ledger.ledger.conditions import Asked, asked
from agents_ledger.ledger.newest import SCANNED, newest
from agents_ledger.model.filters import Filters
from agents_ledger.model.hits import Found, Group
from agents_ledger.model.queries import Query, parse
from agents_ledger.model.ranking import Key, Newness, Ranked, by_turn, fused, raised, told
from agents_ledger.store import Database, Tx
from agents_ledger.store.matching import all_of, noted_words, plain_words

By = Literal["words", "meaning", "both"]
WINDOW = 500  # matching messages and calls that are ranked together
_EVERYTHING = (1 << 62) - 1
_QUESTION = 4  # words; of fewer ones all are meant, unless nothing has them all
_CURSOR = re.compile(r"[0-9]{1,9}\.[0-9]{1,19}\.[0-9]{1,9}")
_NOTES = 200
_MEANT = 1.5  # what meaning counts against words; by the judged questions (bench/quality.py)
_NOTED = 0.8  # what a title, a summary or a path counts against a message


class Cursor(msgspec.Struct, frozen=True):
    """Where a page begins: which window, the highest number in the first, and how many of its groups were shown."""

    window: int = 0
    top: int = _EVERYTHING
    skip: int = 0

    @classmethod
    def read(cls, text: str | None) -> "Cursor":
        """A cursor as it was given with the last page."""
        if text is None:
            return cls()
        if not _CURSOR.fullmatch(text):
            raise BadInput(f"{text!r} is not a cursor: copy the one that the last page ended with")
        return cls(*(min(int(number), _EVERYTHING) for number in text.split(".")))

    def __str__(self) -> str:
        return f"{self.window}.{self.top}.{self.skip}"


class Window(msgspec.Struct, frozen=True):
    """Turns that were ranked together, the best first; the highest number there, and where the next window begins."""

    ranked: Iterable[Ranked]
    top: int
    below: int | None = None
    is_cut: bool = False  # more matches than are ranked


def search(
    database: Database,
    text: str,
    filters: Filters,
    *,
    limit: int,
    cursor: str | None,
    now: int,
    by: By | None = None,
) -> Found:
    """A page of what matches a query: by its words, by its meaning, or by both; None chooses what there is."""
    query, place = parse(text), Cursor.read(cursor)
    with database.read() as tx:
        conditions = asked(database, tx, query, filters, now)
        if not query.wanted:
            unwanted = without.unwanted_turns(database, tx, query)
            groups, is_more = newest(tx, query, conditions, unwanted, skip=place.skip, limit=limit)
            return Found(groups, str(Cursor(skip=place.skip + limit)) if is_more else None, "time")
        if by in ("both", "meaning"):
            meaning.require_ready(tx)
        chosen = by or ("both" if _is_question(query) and meaning.is_ready(tx) else "words")
        windows = _windows(database, tx, query, conditions, Newness(now), place.top, chosen)
        groups, following = _page(tx, query, windows, place, limit)
        return Found(groups, following, chosen)


def _page(
    tx: Tx, query: Query, windows: Iterator[Window], place: Cursor, limit: int
) -> tuple[tuple[Group, ...], str | None]:
    """The groups of a page, and the cursor of the next one."""
    seen: set[str] = set()
    top = place.top
    for number, window in enumerate(windows):
        top = top if number else window.top
        skip = place.skip if number == place.window else 0
        enough = skip + limit if number >= place.window else None
        members, is_all = showing.by_session(tx, window.ranked, seen, enough)
        fresh = [hits for home, hits in members.items() if home not in seen]
        if number >= place.window and len(fresh) > skip:
            shown, is_least = fresh[skip : skip + limit], not is_all or window.is_cut or window.below is not None
            each = showing.hits_of_each(query, limit)
            groups = showing.groups_of(tx, query, shown, each=each, is_least=is_least)
            if len(fresh) > skip + limit:
                return groups, str(Cursor(number, top, skip + limit))
            return groups, None if window.below is None else str(Cursor(number + 1, top))
        seen.update(members)
    return (), None


def _is_question(query: Query) -> bool:
    """Whether it is more than a few words, all of them meant as words."""
    return len(query.wanted) >= _QUESTION and not any(term.is_quoted or term.is_prefix for term in query.wanted)


def _windows(
    database: Database, tx: Tx, query: Query, conditions: Asked, newness: Newness, top: int, by: By
) -> Iterator[Window]:
    """The turns of the newest matches, by words, by meaning, or by both together; then those of older ones by words."""
    near = [] if by == "words" else _near(database, tx, query, conditions)
    if by == "meaning":
        yield Window(near, 0)
        return
    window = _first_window(database, tx, query, conditions, newness, top)
    yield msgspec.structs.replace(window, ranked=fused((1.0, window.ranked), (_MEANT, near))) if near else window
    below = window.below
    while below is not None:
        keys, highest, below = _by_words(database, tx, query, conditions, newness, below)
        yield Window(told(keys), highest, below)


def _near(database: Database, tx: Tx, query: Query, conditions: Asked) -> list[Ranked]:
    """The turns that mean the same, without those in which a word stands that must not be there."""
    unwanted = without.unwanted_turns(database, tx, query) if query.excluded else ()
    return meaning.nearest(tx, " ".join(term.text for term in query.wanted), conditions, unwanted)


def is_behind(database: Database) -> bool:
    """Whether something is sealed that the index does not have yet."""
    with database.read() as tx:
        return tx.first("is_unindexed") is not None or tx.value("fact", name="noted") == "0"


def _first_window(database: Database, tx: Tx, query: Query, conditions: Asked, newness: Newness, top: int) -> Window:
    """The first window, with the turns that are found otherwise: by notes, or with a part of the words."""
    keys, highest, below = _by_words(database, tx, query, conditions, newness, top)
    noted, is_cut = ([], False) if conditions.of_parts else _noted(database, tx, query, conditions)
    ranked = raised(keys, noted, _NOTED) if noted else told(keys)
    if not (keys or noted or below is not None) or _is_question(query):
        # a long output that happens to have all words of a question is not the best answer to it
        loose = loosely.matches(database, tx, query, conditions, newness)
        known = {each.turn_id for each in loose}
        ranked = chain(loose, (each for each in ranked if each.turn_id not in known))
        is_cut = is_cut or len(loose) == loosely.MOST_TURNS
    return Window(ranked, highest, below, is_cut)


def _by_words(
    database: Database, tx: Tx, query: Query, conditions: Asked, newness: Newness, top: int
) -> tuple[list[Key], int, int | None]:
    """The turns of the newest messages and calls up to a number that have all words, the best first.

    With the highest number among them, and where the next window begins.
    """
    rows, is_matched = _matches(database, tx, query, conditions, top)
    keys = by_turn(without.left(database, tx, query, rows, is_matched=is_matched), newness)
    if not (rows and is_matched):
        return keys, 0, None
    column = -1 if query.is_special else 0  # by which they came, the highest first
    return keys, rows[0][column], rows[-1][column] - 1 if len(rows) == _most(query) else None


def _matches(
    database: Database, tx: Tx, query: Query, conditions: Asked, top: int
) -> tuple[list[tuple[Any, ...]], bool]:
    """(number, turn, score) of the newest messages and calls that have all words; of notes, with their own number.

    And whether an index matched them: signs are looked for in the texts themselves, all at once.
    """
    take = noted_words if query.is_special else plain_words
    words = all_of(database.dialect, query.wanted, query.excluded, take)
    asked_for = {"words": words, "top": top, "most": _most(query)}
    if words is None:
        signs = not query.is_special and any(term.literal for term in query.wanted)
        return (tx.rows("found_newest", most=SCANNED, **conditions.params) if signs else []), False
    if query.is_special:
        return tx.rows("found_special_where", **asked_for, **conditions.params), True
    if conditions.is_bound:
        return tx.rows("found_parts_where", **asked_for, **conditions.params), True
    return tx.rows("found_parts", **asked_for, is_word=int(query.is_word)), True


def _most(query: Query) -> int:
    """How many matches are ranked together: of sessions that are asked for by name, all that there may be."""
    return SCANNED if query.values("session") else WINDOW


def _noted(database: Database, tx: Tx, query: Query, conditions: Asked) -> tuple[list[Ranked], bool]:
    """Turns whose session's title, whose summary or files have all words, and whether there may be more."""
    words = all_of(database.dialect, query.wanted, query.excluded, noted_words)
    notes = tx.rows("found_notes", words=words, most=_NOTES) if words else []
    if not notes:
        return [], False
    found: dict[str, Ranked] = {}
    named = {ref for kind, ref in notes if kind == "title"}
    heads: dict[str, str] = dict(tx.rows("heads_of", labels=_json(sorted(named)))) if named else {}
    paths = [ref for kind, ref in notes if kind == "path"]
    touched = tx.rows("turns_of_paths", paths=_json(paths), most=_NOTES) if paths else []
    for kind, ref in notes:
        turn_id = heads.get(ref) if kind == "title" else ref if kind == "summary" else None
        if turn_id is not None:
            found.setdefault(turn_id, Ranked(turn_id, None, 0.0, kind, ref))
    for turn_id, path in touched:
        found.setdefault(turn_id, Ranked(turn_id, None, 0.0, "path", path))
    if conditions.is_bound:
        kept = {row[0] for row in tx.rows("found_among", ids=_json(list(found)), **conditions.params)}
        found = {turn_id: each for turn_id, each in found.items() if turn_id in kept}
    return list(found.values()), _NOTES in (len(notes), len(touched))


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()
