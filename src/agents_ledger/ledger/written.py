"""Forks that were written into an agent's own files: in the record at once, and known again when they have grown."""

from collections.abc import Callable
from hashlib import sha256

from agents_ledger.ledger import moves, sessions
from agents_ledger.ledger.env import Env
from agents_ledger.model.rows import SessionRow, WrittenRow
from agents_ledger.store import Tx

HEAD_BYTES = 1 << 16  # of a first line that are looked at
_PIECE = 1 << 20


def register(tx: Tx, env: Env, row: WrittenRow, origin: str, session: str) -> SessionRow:
    """The new session, pointing at the turn that it was forked at."""
    facts = sessions.Origin(origin=origin, origin_session_id=session)
    made = moves.fork(tx, env, row.turn_id, row.session_label, facts)
    keep(tx, [row])
    return made


def keep(tx: Tx, rows: list[WrittenRow]) -> None:
    """Remembers what was written."""
    tx.run_all("put_written_session", rows)


def known(tx: Tx, size_bytes: int, read: Callable[[int, int], bytes]) -> WrittenRow | None:
    """What of a source was written from here, if its beginning was and has not changed since; `read` gives bytes."""
    if not is_any(tx):
        return None  # as a rule: nothing more is read
    found = tx.first("written_session", head=head_digest(read(0, HEAD_BYTES)))
    row = None if found is None else WrittenRow(*found)
    if row is None or row.size_bytes > size_bytes:
        return None
    digest = sha256()
    for start in range(0, row.size_bytes, _PIECE):
        digest.update(read(start, min(_PIECE, row.size_bytes - start)))
    return row if digest.digest() == row.digest else None


def is_any(tx: Tx) -> bool:
    """Whether anything was written at all."""
    return tx.value("any_written_session") is not None


def begun(tx: Tx, label: str) -> WrittenRow | None:
    """What a session was written as, as long as the turn is here that it continues."""
    found = tx.first("written_session_begun", label=label)
    return None if found is None else WrittenRow(*found)


def of_session(tx: Tx, label: str) -> WrittenRow | None:
    """The file that a session was written into, if it was."""
    row = tx.first("written_session_of", label=label)
    return None if row is None else WrittenRow(*row)


def every(tx: Tx) -> list[WrittenRow]:
    """All of them."""
    return [WrittenRow(*row) for row in tx.rows("all_written_sessions")]


def name_digest(name: str) -> bytes:
    """What a folder is recognised by: the name of its session."""
    return sha256(name.encode("utf-8", "surrogatepass")).digest()


def head_digest(beginning: bytes) -> bytes:
    """What a file is recognised by: its first line, with the new session's id in it."""
    return sha256(beginning[:HEAD_BYTES].split(b"\n", 1)[0]).digest()
