"""Threads: a turn seen with all that led to it."""

from collections.abc import Iterator

import msgspec

from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import sessions
from agents_ledger.ledger.records import no_cursor, read_turn
from agents_ledger.model.ids import LENGTH, is_ulid
from agents_ledger.model.rows import TurnRow
from agents_ledger.model.texts import turn_name
from agents_ledger.store import ALL, Tx

_SHORTEST = 4


def ancestry(tx: Tx, turn_id: str) -> list[str]:
    """The ids from the root to a turn, itself included."""
    found = tx.value("ancestry", id=turn_name(turn_id))
    if found is None:
        raise NotFound(f"no turn {turn_id!r}: `ldg tree` shows the turns that there are")
    return msgspec.json.decode(found, type=list[str])


def path(tx: Tx, turn_id: str, from_depth: int = 1, to_depth: int | None = None) -> Iterator[TurnRow]:
    """The turns of a thread between two depths, from the root downwards."""
    last = read_turn(tx, turn_id).depth if to_depth is None else to_depth
    return (TurnRow(*row) for row in tx.each("path", id=turn_id, from_depth=from_depth, to_depth=last))


def ancestor_at(tx: Tx, turn_id: str, depth: int) -> str | None:
    """The turn of a thread at a depth."""
    found = tx.value("ancestor_at", id=turn_id, depth=depth)
    return None if found is None else str(found)


def is_ancestor(tx: Tx, turn_id: str, of: str) -> bool:
    """Whether a turn lies on the way from the root to another one (itself included)."""
    depth = read_turn(tx, turn_id).depth
    return ancestor_at(tx, of, depth) == turn_id


def including(tx: Tx, turn_id: str, after: str = "", limit: int = ALL) -> list[str]:
    """Every session that has ever had a turn in its thread; a page: those after a label."""
    read_turn(tx, turn_id)
    if after and tx.first("session_by_label", label=after) is None:
        raise no_cursor(after)
    return [row[0] for row in tx.rows("sessions_including", id=turn_id, after=after, limit=limit)]


def openings(tx: Tx, turn_ids: list[str]) -> dict[str, str]:
    """The words that turns began with: what was asked, or the summary of a compaction."""
    ids = msgspec.json.encode(turn_ids).decode()
    return {row[0]: row[1] for row in tx.rows("openings", ids=ids) if row[1]} if turn_ids else {}


def find(tx: Tx, text: str) -> str:
    """A turn's id from what a person types: the id, its end, its beginning, or a session's label (its head).

    Else by the id that an agent gave: to a session, to a turn, or to a message or a call in it.
    """
    if is_ulid(turn_name(text).upper()) and tx.first("turn_by_id", id=text.upper()):
        return text.upper()
    if tx.first("turn_by_id", id=text):
        return text
    session = sessions.resolve(tx, text)
    if session is not None and session.thread_id is not None:
        return session.thread_id
    wanted = text.lstrip("…").upper()
    if _SHORTEST <= len(wanted) < LENGTH and wanted.isalnum():
        for pattern in (f"%{wanted}", f"{wanted}%"):
            found = tx.rows("turns_like", pattern=pattern)
            if len(found) == 1:
                return str(found[0][0])
            if len(found) > 1:
                raise BadInput(f"{text!r} fits several turns ({found[0][0]}, {found[1][0]} …): give more of it")
    native = _by_native(tx, text)
    if native is None:
        raise _not_found(tx, text)
    return native


def _not_found(tx: Tx, text: str) -> NotFound:
    session = sessions.resolve(tx, text) or sessions.by_native(tx, text)
    if session is None:
        return NotFound(f"no turn or session {text!r}: `ldg sessions` and `ldg tree` show what there is")
    live = tx.first("live_of", label=session.label)
    if live is not None:
        return NotFound(f"session {text!r} has no finished turn yet: `ldg show {live[0]}` shows its first one so far")
    return NotFound(f"session {text!r} has no turns yet: append one first, or name another session")


def _by_native(tx: Tx, native_id: str) -> str | None:
    session = sessions.by_native(tx, native_id)
    if session is not None and session.thread_id is not None:
        return session.thread_id
    found = tx.rows("turns_by_native", native_id=native_id)
    if len(found) > 1:
        named = ", ".join(f"{turn_id} ({label or 'of no session'})" for turn_id, label in found)
        raise BadInput(f"{native_id!r} stands in several turns, name one of them: {named}")
    return found[0][0] if found else None
