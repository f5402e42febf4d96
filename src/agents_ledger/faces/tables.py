"""The tables of all faces by name: how each is paged through, and how a row is found by its id."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from agents_ledger.errors import BadInput
from agents_ledger.faces import aix, events, mnemonic
from agents_ledger.ledger import Ledger

Page = Callable[[Ledger, str, str | None, int], Sequence[Struct]]


class Table(Struct, frozen=True):
    """One table: of which system, its rows, and the ways to read it."""

    name: str  # as SQLite has it
    system: str
    row: type[Struct]
    page: Page  # ledger, session, cursor, limit
    find: Callable[[Ledger, str], Sequence[Struct]] | None
    by_session: bool  # it is read session by session
    cursor: Callable[[Any], str]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.row.__struct_fields__


def table(name: str) -> Table:
    """A table by its name."""
    if name not in TABLES:
        raise BadInput(f"there is no table {name!r}: the faces have {', '.join(TABLES)}")
    return TABLES[name]


def _id(row: Any) -> str:
    return str(row.id)


def _sequence(row: Any) -> str:
    return str(row.sequence)


def _started(row: Any) -> str:
    return f"{row.started_at}:{row.id}"


def _told(row: Any) -> str:
    return f"{row.timestamp}:{row.id}"


def _number(cursor: str | None) -> int:
    if cursor is None:
        return -1
    if not cursor.isdecimal():
        raise BadInput(f"{cursor!r} is not a cursor: copy the one that the last page ended with")
    return int(cursor)


def _row(ledger: Ledger, find: Callable[[Ledger, str], Struct | None], cursor: str | None) -> str:
    """A cursor that is the id of the last row: nothing is deleted, so that row is there."""
    if cursor is not None and find(ledger, cursor) is None:
        raise BadInput(f"{cursor!r} is not a cursor: copy the one that the last page ended with")
    return cursor or ""


def _moment(cursor: str | None) -> tuple[int, str]:
    at, colon, row_id = (cursor or "").partition(":")
    if cursor is not None and not (colon and at.isdecimal()):
        raise BadInput(f"{cursor!r} is not a cursor: copy the one that the last page ended with")
    return (int(at), row_id) if cursor is not None else (-1, "")


def _one(found: Struct | None) -> list[Struct]:
    return [] if found is None else [found]


def _tables() -> tuple[Table, ...]:
    m, a, e = mnemonic, aix, events
    return (
        Table(
            "agent_sessions", "mnemonic", m.AgentSession,
            lambda at, _, after, limit: m.sessions(at, after=_row(at, m.session, after), limit=limit),
            lambda at, key: _one(m.session(at, key)), by_session=False, cursor=_id,
        ),
        Table(
            "agent_messages", "mnemonic", m.AgentMessage,
            lambda at, session, after, limit: m.messages(at, session, after=_number(after), limit=limit),
            m.message, by_session=True, cursor=_sequence,
        ),
        Table(
            "agent_turns", "mnemonic", m.AgentTurn,
            lambda at, session, after, limit: m.turns(at, session, after=_row(at, m.turn, after), limit=limit),
            lambda at, key: _one(m.turn(at, key)), by_session=True, cursor=_id,
        ),
        Table(
            "agent_tool_calls", "mnemonic", m.AgentToolCall,
            lambda at, session, after, limit: m.calls(at, session, after=_moment(after), limit=limit),
            m.call, by_session=True, cursor=_started,
        ),
        Table(
            "event_threads", "events", e.EventThread,
            lambda at, _, after, limit: e.threads(at, after=_row(at, e.thread, after), limit=limit),
            lambda at, key: _one(e.thread(at, key)), by_session=False, cursor=_id,
        ),
        Table(
            "events", "events", e.Event,
            lambda at, session, after, limit: e.events(at, session, after=_moment(after), limit=limit),
            lambda at, key: _one(e.event(at, key)), by_session=True, cursor=_told,
        ),
        Table(
            "aix_sessions", "aix", a.AixSession,
            lambda at, _, after, limit: a.sessions(at, after=_row(at, a.session, after), limit=limit),
            lambda at, key: _one(a.session(at, key)), by_session=False, cursor=_id,
        ),
        Table(
            "aix_messages", "aix", a.AixMessage,
            lambda at, session, after, limit: a.messages(at, session, after=_number(after), limit=limit),
            None, by_session=True, cursor=_sequence,
        ),
        Table(
            "aix_turns", "aix", m.AgentTurn,
            lambda at, session, after, limit: a.turns(at, session, after=_row(at, m.turn, after), limit=limit),
            None, by_session=True, cursor=_id,
        ),
        Table(
            "aix_tool_calls", "aix", m.AgentToolCall,
            lambda at, session, after, limit: a.calls(at, session, after=_moment(after), limit=limit),
            None, by_session=True, cursor=_started,
        ),
    )  # fmt: skip


TABLES = {each.name: each for each in _tables()}
