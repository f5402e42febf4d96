"""How a captured session is taken up again in its own agent: the command, and the folder to give it in."""

import os

from msgspec import Struct

from agents_ledger.capture.forking import agents
from agents_ledger.errors import NotAllowed, NotFound
from agents_ledger.ledger import Ledger, sessions, threads, written
from agents_ledger.ledger.records import read_turn
from agents_ledger.model.captures import Capture
from agents_ledger.model.rows import SessionRow
from agents_ledger.model.writing import Native
from agents_ledger.store import Tx

_MOVED_HERE = ("rewind", "replay")
_COPY = "export"  # what OpenCode wrote for others
_ASIDE = ("archive", "checkpoint", "cold")  # what openclaw and its kin have put away, or taken into a database
_DOCUMENTS = ("record", _COPY)  # whole sessions (of Gemini CLI): others are lists


class Opened(Struct, frozen=True):
    """A session, and what resumes it."""

    session: str
    agent: str
    agent_session: str
    turn_id: str
    path: str
    folder: str | None
    command: tuple[str, ...]
    is_elsewhere: bool  # its pointer was moved: the agent goes on at the end of its file, not at the head


def opened(ledger: Ledger, text: str) -> Opened:
    """The session of a label, an alias, an agent's own id, or a turn, as its agent resumes it."""
    known = agents()
    with ledger.database.read() as tx:
        session = _session(tx, text, list(known))
        head, agent, own = session.thread_id, session.origin or "", session.origin_session_id
        again = f"`ldg fork {head} --into AGENT` continues it in a session of its own"
        if head is None:
            raise NotAllowed(f"session {session.label!r} has no turns yet: there is nothing to resume")
        if agent not in known or own is None or "/" in own or own.startswith("-"):  # a subagent's; no id at all
            what = "was written here" if session.origin is None else f"is one of {session.origin} that can't be resumed"
            raise NotAllowed(f"session {session.label!r} {what}: {again}")
        path, is_kept = _file(tx, session.label)
        if path is None or not os.path.exists(path):  # noqa: PTH110 - a path as text
            raise NotFound(f"the file of session {session.label!r} is no longer there ({path}): {again}")
        moved = tx.value("last_move_reason", label=session.label)
        return Opened(
            session=session.label,
            agent=agent,
            agent_session=own,
            turn_id=head,
            path=path,
            folder=read_turn(tx, head).workspace_path or _project(tx, session.label),
            command=_command(known[agent][1], own, path, is_kept=is_kept),
            is_elsewhere=moved in _MOVED_HERE,
        )


def _session(tx: Tx, text: str, origins: list[str]) -> SessionRow:
    found = sessions.resolve(tx, text)
    if found is not None:
        return found
    for origin in origins:
        row = tx.first("session_by_origin", origin=origin, origin_session_id=text)
        if row is not None:
            return SessionRow(*row)
    turn = read_turn(tx, threads.find(tx, text))
    if turn.session_label is None:
        raise NotAllowed(f"turn {turn.id} is in no session: `ldg fork {turn.id} --into AGENT` makes one")
    return sessions.require(tx, turn.session_label)


def _command(native: Native, session: str, path: str, *, is_kept: bool) -> tuple[str, ...]:
    return native.reopen(session) if is_kept and native.reopen is not None else native.resume(session, path)


def _file(tx: Tx, label: str) -> tuple[str | None, bool]:
    """Where its file, folder or database is, as captured last or as written; and whether the agent keeps it there."""
    found = [Capture(*row) for row in tx.rows("captures_of_session", label=label)]
    found.sort(key=lambda capture: capture.kind not in _ASIDE)
    fork = written.of_session(tx, label)
    for are_kept in (True, False):
        paths = [_path(capture) for capture in found if _is_whole(capture) and (capture.kind != _COPY) == are_kept]
        if paths:
            return paths[-1], are_kept and (fork is None or paths[-1] != fork.path)
    return (None if fork is None else fork.path), False


def _path(capture: Capture) -> str:
    whole = capture.bundle if capture.shape in ("bundle", "database") and capture.bundle else capture.path
    return whole.partition("#ses_")[0]  # OpenCode's tree holds many sessions


def _is_whole(capture: Capture) -> bool:
    is_document = capture.shape == "document" and capture.kind in _DOCUMENTS
    return capture.state == "current" and (capture.shape in ("lines", "bundle", "database") or is_document)


def _project(tx: Tx, label: str) -> str | None:
    row = tx.first("story_details", label=label)
    return None if row is None else row[1]
