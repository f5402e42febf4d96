"""Hits as they are shown: grouped by session, each with the piece of text that made it one."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from agents_ledger.model.hits import Group, Hit, Place, Snippet
from agents_ledger.model.queries import Query
from agents_ledger.model.ranking import Ranked
from agents_ledger.model.snippets import Marker, cut, opening
from agents_ledger.model.stems import forms
from agents_ledger.store import Tx

EACH = 3  # hits of a session on a page
WIDTH = 180  # characters of a snippet
_CHUNK = 4  # turns that are looked up for each session that is wanted


class _Facts(msgspec.Struct, frozen=True):
    """What there is to say about a turn."""

    turn_id: str
    started_at: int
    model: str | None
    status: str
    session: str | None
    origin: str | None
    title: str | None
    project: str | None
    is_subagent: int
    root_id: str


def grouped(
    tx: Tx, query: Query, ranked: Sequence[Ranked], *, skip: int, limit: int, each: int = EACH
) -> tuple[tuple[Group, ...], bool]:
    """So many groups of hits after those that were shown, and whether there are more."""
    members: dict[str, list[tuple[Ranked, _Facts]]] = {}
    seen, step = 0, max((skip + limit) * _CHUNK, 1)
    while seen < len(ranked) and len(members) <= skip + limit:
        piece = ranked[seen : seen + step]
        facts = _facts(tx, [hit.turn_id for hit in piece])
        for hit in piece:
            if hit.turn_id in facts:
                about = facts[hit.turn_id]
                members.setdefault(about.session or about.root_id, []).append((hit, about))
        seen += len(piece)
    shown = list(members.values())[skip : skip + limit]
    exact = Marker([(term.text, term.is_prefix) for term in query.wanted])
    loose = Marker([form for term in query.wanted for form in forms(term)])
    groups = tuple(_group(tx, (exact, loose), hits, each) for hits in shown)
    return groups, len(members) > skip + limit


def _group(tx: Tx, markers: tuple[Marker, ...], hits: list[tuple[Ranked, _Facts]], each: int) -> Group:
    about = hits[0][1]
    return Group(
        about.session or None,
        about.title,
        about.project,
        about.origin,
        bool(about.is_subagent),
        tuple(_hit(tx, markers, hit, facts) for hit, facts in hits[:each]),
        max(0, len(hits) - each),
    )


def _hit(tx: Tx, markers: tuple[Marker, ...], hit: Ranked, about: _Facts) -> Hit:
    place, role, tool, snippet = _shown(tx, markers, hit, about)
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


def _shown(
    tx: Tx, markers: tuple[Marker, ...], hit: Ranked, about: _Facts
) -> tuple[Place, str | None, str | None, Snippet]:
    """Where the words stand, who said them or by which tool, and the piece."""
    if hit.place is not None:
        text = {"title": about.title, "path": hit.said}.get(hit.place)
        text = tx.value("summary_of", turn_id=hit.turn_id) if text is None else text
        place = cast("Place", hit.place)
        return place, None, None, _piece(text or "", markers)
    number = tx.value("found_opening", turn_id=hit.turn_id) if hit.number is None else hit.number
    role, tool, texts = _texts(tx, number)
    for marker in markers:
        for place, text in texts:
            snippet = cut(text, marker, WIDTH)
            if snippet is not None:
                return place, role, tool, snippet
    place, text = texts[0] if texts else ("content", "")
    return place, role, tool, opening(text, WIDTH)


def _texts(tx: Tx, number: int | None) -> tuple[str | None, str | None, list[tuple[Place, str]]]:
    """A message's or call's texts, those that count most first."""
    if number is None:
        return None, None, []
    named: list[tuple[Place, Any]]
    if number % 2:
        tool, params, result, error = tx.first("found_call", n=number) or ("", None, None, None)
        named = [("params", _unescaped(params)), ("result", _unescaped(result)), ("result", error)]
        return "tool", tool, [(place, text) for place, text in named if text]
    role, content, thinking = tx.first("found_message", n=number) or (None, None, None)
    named = [("content", content), ("thinking", thinking)]
    return role, None, [(place, text) for place, text in named if text]


def _unescaped(json_text: str | None) -> str | None:
    """JSON as it is searched: without the escapes that stick to words."""
    if json_text is None or "\\" not in json_text:
        return json_text
    plain = json_text.replace("\\\\", "/").replace("\\n", " ").replace("\\t", " ")
    return plain.replace('\\"', '"')


def _piece(text: str, markers: tuple[Marker, ...]) -> Snippet:
    for marker in markers:
        snippet = cut(text, marker, WIDTH)
        if snippet is not None:
            return snippet
    return opening(text, WIDTH)


def _facts(tx: Tx, turn_ids: list[str]) -> dict[str, _Facts]:
    rows = tx.rows("found_facts", ids=msgspec.json.encode(turn_ids).decode())
    return {row[0]: _Facts(*row) for row in rows}
