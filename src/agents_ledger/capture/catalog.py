"""What was captured, and what there is to capture: lists, for the doors."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from agents_ledger.capture.details import Details
from agents_ledger.capture.discover import is_gone, walk
from agents_ledger.formats import formats
from agents_ledger.ledger import Ledger
from agents_ledger.model.captures import UNRECOGNISED, Capture
from agents_ledger.model.formats import Format, Machine, Root

ProblemKey = tuple[str, int, str, str]
"""What tells problems apart, in their order: path, place, code, detail."""
_BEFORE_ALL: ProblemKey = ("", -2, "", "")


class ProblemRow(Struct, frozen=True):
    """A row of `problems`."""

    path: str
    place: int  # the byte in the capture; -1: the source as a whole
    code: str
    detail: str
    capture_id: int | None
    seen_at: int


class Totals(Struct, frozen=True):
    """How much evidence there is."""

    captures: int
    source_bytes: int  # of all captures, as the sources have them
    block_bytes: int  # of what is kept: the same bytes are kept once
    packed_bytes: int  # and what they take in the ledger


class Place(Struct, frozen=True):
    """A folder where an agent keeps sessions."""

    path: str
    exists: bool
    files: int
    size_bytes: int


class SourceLine(Struct, frozen=True):
    """A format: where its sources are on this machine, and what of them was captured."""

    format: str
    places: list[Place]
    captured: int
    captured_bytes: int
    missing: list[str]  # captured, and no longer where they were: the evidence stays


def captures(ledger: Ledger, *, form: str | None = None, after: int = 0, limit: int = 50) -> list[Capture]:
    """Captures in the order of their numbers."""
    with ledger.database.read() as tx:
        return [Capture(*row) for row in tx.rows("captures_page", format=form, after=after, limit=limit)]


def captures_of(ledger: Ledger, label: str) -> list[Capture]:
    """The captures that a session was read from."""
    with ledger.database.read() as tx:
        return [Capture(*row) for row in tx.rows("captures_of_session", label=label)]


def details_of(ledger: Ledger, label: str) -> Details | None:
    """What its sources say about a session as a whole."""
    with ledger.database.read() as tx:
        row = tx.first("details_of", label=label)
    return None if row is None else Details(*row)


def seen_since(ledger: Ledger, since: int) -> list[str]:
    """The sessions whose sources were read since a time."""
    with ledger.database.read() as tx:
        return [row[0] for row in tx.rows("sessions_seen_since", since=since)]


def problems(
    ledger: Ledger, *, code: str | None = None, after: ProblemKey | None = None, limit: int = 50
) -> list[ProblemRow]:
    """What was wrong with sources, in the order of paths, after one of them."""
    names = ("after_path", "after_place", "after_code", "after_detail")
    last = dict(zip(names, after or _BEFORE_ALL, strict=True))
    with ledger.database.read() as tx:
        rows = tx.rows("problem_list", code=code, limit=limit, **last)
    return [ProblemRow(*row) for row in rows]


def problem_counts(ledger: Ledger) -> dict[str, int]:
    """How many problems of each code there are, the most frequent first."""
    with ledger.database.read() as tx:
        return {row[0]: row[1] for row in tx.rows("problem_counts")}


def totals(ledger: Ledger) -> Totals:
    """How much evidence there is."""
    with ledger.database.read() as tx:
        count, source_bytes = tx.first("capture_totals") or (0, 0)
        packed, unpacked = tx.first("packed_bytes") or (0, 0)
    return Totals(count, int(source_bytes), int(unpacked), int(packed))


def sources(machine: Machine, ledger: Ledger | None) -> Iterator[SourceLine]:
    """Every format with its places, and what the ledger (if there is one) has of it; then what none recognised."""
    known = {} if ledger is None else _captured(ledger)
    missing = {} if ledger is None else _missing(ledger)
    for form in formats():
        places = [_place(form, root) for root in form.roots(machine)]
        count, size_bytes = known.get(form.name, (0, 0))
        yield SourceLine(form.name, places, count, size_bytes, missing.get(form.name, []))
    if UNRECOGNISED in known:
        yield SourceLine(UNRECOGNISED, [], *known[UNRECOGNISED], missing.get(UNRECOGNISED, []))


def _captured(ledger: Ledger) -> dict[str, tuple[int, int]]:
    with ledger.database.read() as tx:
        return {row[0]: (row[1], int(row[2])) for row in tx.rows("captured_by_format")}


def _missing(ledger: Ledger) -> dict[str, list[str]]:
    """The captured files that are not where they were, by format."""
    found: dict[str, dict[str, None]] = {}
    with ledger.database.read() as tx:
        for capture in (Capture(*row) for row in tx.each("current_captures")):
            path = capture.path.partition("#")[0] if capture.shape == "database" else capture.path
            if is_gone(path):
                found.setdefault(capture.format, {})[path] = None
    return {name: sorted(paths) for name, paths in found.items()}


def _place(form: Format, root: Root) -> Place:
    matches = re.compile(root.pattern).search
    start = len(root.path) + 1
    there = (found for found in walk(root.path, form) if not found.problem)
    sizes = [found.size_bytes for found in there if matches(found.path[start:].replace(os.sep, "/"))]
    return Place(root.path, Path(root.path).is_dir(), len(sizes), sum(sizes))


class Fallen(Struct, frozen=True):
    """That a turn does not stand any more: its sources tell it otherwise by now."""

    by: str | None  # the turn that stands for it


def fallen(ledger: Ledger, turn_id: str) -> Fallen | None:
    """Whether a turn was superseded, and by which one."""
    with ledger.database.read() as tx:
        row = tx.first("superseded_by", turn_id=turn_id)
    return None if row is None else Fallen(row[0])
