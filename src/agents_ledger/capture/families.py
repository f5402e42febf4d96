"""Families of sources: those that tell of the same conversations, because one copies, continues or names the other."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from agents_ledger.ledger import written
from agents_ledger.model.captures import Capture
from agents_ledger.store import Tx

_MOST_BYTES = 32 << 20
_MOST_SOURCES = 5_000
_LISTS = ("index", "history", "prompts")  # they name sessions of many families, and tell nothing of them


class Family(Struct):
    """Sources, their sessions, and the trees that these have written in."""

    captures: dict[int, Capture] = {}
    sessions: set[str] = set()
    roots: set[str] = set()


def families(tx: Tx, pairs: Iterable[tuple[int, int]]) -> Iterator[Family]:
    """The families of captures that belong together, each once; one that is too large to be read is left out."""
    done: set[int] = set()
    forks = {row.session_label for row in written.every(tx)}
    beside: dict[int, set[int]] = {}
    for one, other in pairs:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    for capture_id in sorted(beside):
        if capture_id not in done:
            found = _around(tx, capture_id, beside)
            done |= found.captures.keys()
            # what was written from here continues turns that no source tells
            if not _is_too_large(found) and found.captures and forks.isdisjoint(found.sessions):
                yield found


def _around(tx: Tx, capture_id: int, beside: dict[int, set[int]]) -> Family:
    found = Family()
    _add(tx, found, [capture_id], beside)
    labels, roots = set[str](), set[str]()
    while (labels, roots) != (found.sessions, found.roots) and not _is_too_large(found):
        for label in found.sessions - labels:
            found.roots |= {row[0] for row in tx.rows("roots_of_session", label=label)}
            _add(tx, found, [row[0] for row in tx.rows("captures_of_session", label=label)], beside)
            labels.add(label)
        for root in found.roots - roots:
            found.sessions |= {row[0] for row in tx.rows("sessions_of_root", root_id=root)}
            roots.add(root)
    return found


def _add(tx: Tx, family: Family, capture_ids: list[int], beside: dict[int, set[int]]) -> None:
    """Takes sources in, with those that belong to them, and their sessions."""
    ahead = [capture_id for capture_id in capture_ids if capture_id not in family.captures]
    while ahead:
        row = tx.first("capture_by_id", id=ahead.pop())
        capture = None if row is None else Capture(*row)
        if capture is None or capture.id in family.captures or capture.kind in _LISTS:
            continue
        family.captures[capture.id] = capture
        ahead += beside.get(capture.id, ())
        family.sessions |= {row[0] for row in tx.rows("sessions_of_capture", capture_id=capture.id)}
        if capture.shape == "bundle" and capture.bundle is not None:
            ahead += [row[0] for row in tx.rows("captures_in", bundle=capture.bundle)]


def _is_too_large(family: Family) -> bool:
    sizes = [capture.size_bytes for capture in family.captures.values()]
    return len(sizes) > _MOST_SOURCES or sum(sizes) > _MOST_BYTES
