"""Hits as they are shown: grouped by session, each with the piece of text that made it one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast

import msgspec

from agents_ledger.model.hits import Group, Hit, Place, Snippet
from agents_ledger.model.queries import Query
from agents_ledger.model.ranking import Ranked
from agents_ledger.model.snippets import Marker, cut, fold, opening
from agents_ledger.model.stems import forms
from agents_ledger.store import Tx

_EACH = 3  # hits of a session on a page
WIDTH = 180  # characters of a snippet
_ESCAPES = (("\\n", " "), ("\\t", " "), ("\\r", " "), ('\\"', '"'), ("\\/", "/"))
_BACKSLASH = "\0"  # stands for one meanwhile: no JSON has it as it is
_LONG = 4_000  # characters of a JSON text that is taken apart as a whole
_SHORT = 1_000  # the same for a single word
_LEAST = 20  # turns that are looked up at once


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What there is to say about a turn, and about the session in which it was written."""

    turn_id: str
    started_at: int
    model: str | None
    status: str
    session: str | None
    root_id: str
    origin: str | None
    title: str | None
    project: str | None
    is_subagent: int


Members = dict[str, list[tuple[Ranked, Facts]]]  # by session, or by the first turn where there is none


class _Texts(msgspec.Struct, frozen=True):
    """What a message says, or a call with its result."""

    role: str | None = None
    tool: str | None = None
    named: list[tuple[Place, str, bool]] = []  # where, what, and whether it is JSON


def by_session(
    tx: Tx, ranked: Iterable[Ranked], seen: Collection[str] = (), enough: int | None = None
) -> tuple[Members, bool]:
    """Hits by the session in which they were written, in the order of the best of each; and whether that is all.

    It ends when `enough` sessions have come that were not seen before: each hit that is looked up is a page of the
    disk, and of a word in hundreds of turns a page shows thirty.
    """
    members: Members = {}
    left, step = iter(ranked), None if enough is None else max(enough + enough // 4, _LEAST)
    while enough is None or len(members.keys() - seen) <= enough:
        piece = list(islice(left, step))
        if not piece:
            return members, True
        facts = facts_of(tx, [hit.turn_id for hit in piece])
        for hit in piece:
            about = facts.get(hit.turn_id)
            if about is not None:
                members.setdefault(about.session or about.root_id, []).append((hit, about))
    return members, next(left, None) is None


def groups_of(
    tx: Tx, query: Query, shown: Sequence[list[tuple[Ranked, Facts]]], *, each: int, is_least: bool
) -> tuple[Group, ...]:
    """So many hits of some sessions as they are shown; `is_least`: there may be more of them than are known."""
    show = _show(tx, query, [pair for hits in shown for pair in hits[:each]])
    return tuple(_group(show, hits[:each], max(0, len(hits) - each), is_least=is_least) for hits in shown)


def newest_groups(tx: Tx, shown: Sequence[list[Ranked]], *, each: int, is_least: bool) -> tuple[Group, ...]:
    """The same without words, where sessions are known before anything is asked about their turns."""
    facts = facts_of(tx, [hit.turn_id for hits in shown for hit in hits[:each]])
    told = [[(hit, facts[hit.turn_id]) for hit in hits[:each]] for hits in shown]
    show = _show(tx, Query(), [pair for hits in told for pair in hits])
    return tuple(
        _group(show, pairs, len(hits) - len(pairs), is_least=is_least) for pairs, hits in zip(told, shown, strict=True)
    )


def hits_of_each(query: Query, limit: int) -> int:
    """How many hits of a session a page shows: as many as it can hold, where sessions are asked for by name."""
    return _EACH * limit if query.values("session") else _EACH


def snippets_of(tx: Tx, query: Query, hits: Mapping[Ranked, Facts]) -> dict[str, Snippet]:
    """By turn: the piece of text that made it a hit."""
    show = _show(tx, query, list(hits.items()))
    return {hit.turn_id: _shown(show, hit)[-1] for hit in hits}


def facts_of(tx: Tx, turn_ids: list[str]) -> dict[str, Facts]:
    """What there is to say about turns."""
    rows = tx.rows("found_facts", ids=msgspec.json.encode(turn_ids).decode())
    return {row[0]: Facts(*row) for row in rows}


class _Show(msgspec.Struct, frozen=True):
    """What hits are shown with."""

    markers: tuple[Marker, ...]
    texts: dict[str, _Texts]
    noted: dict[str, str | None]


def _show(tx: Tx, query: Query, hits: list[tuple[Ranked, Facts]]) -> _Show:
    wanted = query.wanted
    exact = Marker([(term.text, term.is_prefix) for term in wanted])
    loose = Marker([form for term in wanted for form in forms(term)])
    return _Show((exact, loose), _texts(tx, [hit for hit, _ in hits]), _noted(tx, hits))


def _group(show: _Show, hits: list[tuple[Ranked, Facts]], more: int, *, is_least: bool) -> Group:
    home = hits[0][1]
    return Group(
        home.session,
        home.title,
        home.project,
        home.origin,
        bool(home.is_subagent),
        tuple([_hit(show, hit, facts) for hit, facts in hits]),
        more,
        is_least,
    )


def _hit(show: _Show, hit: Ranked, about: Facts) -> Hit:
    place, role, tool, snippet = _shown(show, hit)
    return Hit(
        about.turn_id,
        about.started_at,
        about.model,
        about.status,
        place,
        role,
        tool,
        snippet,
        hit.score,
        hit.is_partial,
    )


def _shown(show: _Show, hit: Ranked) -> tuple[Place, str | None, str | None, Snippet]:
    """Where the words stand, who said them or by which tool, and the piece."""
    if hit.place is not None:
        return cast("Place", hit.place), None, None, _piece(show.noted.get(hit.turn_id) or "", show.markers)
    found = show.texts.get(hit.turn_id, _Texts())
    for marker in show.markers:
        for place, text, is_json in found.named:
            snippet = _cut_json(text, marker) if is_json else cut(text, marker, WIDTH)
            if snippet is not None:
                return place, found.role, found.tool, snippet
    place, text, is_json = found.named[0] if found.named else ("content", "", False)
    return place, found.role, found.tool, opening(_unescaped(text[:_LONG]) if is_json else text, WIDTH)


def _texts(tx: Tx, hits: list[Ranked]) -> dict[str, _Texts]:
    """By turn: the texts of the message or call that matched, those that count most first."""
    of_turn = {
        tx.value("found_opening", turn_id=hit.turn_id) if hit.number is None else hit.number: hit.turn_id
        for hit in hits
        if hit.place is None
    }
    said = [number for number in of_turn if number is not None and number % 2 == 0]
    called = [number for number in of_turn if number is not None and number % 2]
    found: dict[str, _Texts] = {}
    named: tuple[tuple[Place, Any, bool], ...]
    for number, role, content, thinking in _numbered(tx, "found_messages", said):
        named = ("content", content, False), ("thinking", thinking, False)
        found[of_turn[number]] = _Texts(role, None, [each for each in named if each[1]])
    for number, tool, params, result, error in _numbered(tx, "found_calls", called):
        named = ("params", params, True), ("result", result, True), ("result", error, False)
        found[of_turn[number]] = _Texts("tool", tool, [each for each in named if each[1]])
    return found


def _numbered(tx: Tx, name: str, numbers: list[int]) -> list[tuple[Any, ...]]:
    """Messages or calls by their numbers."""
    return tx.rows(name, numbers=msgspec.json.encode(numbers).decode()) if numbers else []


def _noted(tx: Tx, hits: list[tuple[Ranked, Facts]]) -> dict[str, str | None]:
    """By turn: the title, the path or the summary that matched."""
    noted: dict[str, str | None] = {}
    for hit, about in hits:
        if hit.place == "title":
            noted[hit.turn_id] = about.title
        elif hit.place is not None:
            noted[hit.turn_id] = hit.said if hit.place == "path" else None
    untold = [turn_id for turn_id, text in noted.items() if text is None]
    if untold:
        noted.update(tx.rows("summaries_of", ids=msgspec.json.encode(untold).decode()))
    return noted


def _cut_json(text: str, marker: Marker) -> Snippet | None:
    """The best piece of a JSON text; of a long one near a place that may match."""
    at = marker.first(text) if len(text) > _LONG else -1  # as it was typed: small letters are not made of all of it
    at = marker.first(fold(text)) if at < 0 else at
    if at < 0 and marker.is_of_words:
        return None  # whatever is escaped beside them, words stand there as they are
    # where only one word is looked for, its next few places are as good as all of them
    reach = _LONG if marker.is_several else _SHORT
    if at >= 0 and len(text) > reach:
        snippet = cut(_unescaped(text[max(0, at - reach // 4) : at + reach]), marker, WIDTH)
        if snippet is not None:
            return snippet
    return cut(_unescaped(text), marker, WIDTH)


def _unescaped(json_text: str) -> str:
    """JSON as people read it: its escapes are the characters that they stand for, on one line."""
    if "\\" not in json_text:
        return json_text
    plain = json_text.replace("\\\\", _BACKSLASH)  # first, and apart: `\\n` is a backslash before an n
    for escape, char in _ESCAPES:
        plain = plain.replace(escape, char)
    return plain.replace(_BACKSLASH, "\\")


def _piece(text: str, markers: tuple[Marker, ...]) -> Snippet:
    for marker in markers:
        snippet = cut(text, marker, WIDTH)
        if snippet is not None:
            return snippet
    return opening(text, WIDTH)
