"""Mnemonic's Events Ledger: what was asked and what was answered, without what programs put around it."""

from msgspec import Struct

from agents_ledger.faces.reading import every, first
from agents_ledger.ledger import Ledger


class Event(Struct, frozen=True):
    """A row of `events`: one side of a turn."""

    id: str
    thread_id: str  # the session that the turn was written in
    turn_id: str
    source: str
    channel: str | None
    role: str  # 'user' | 'assistant'
    content: str
    timestamp: int
    model: str | None


class EventThread(Struct, frozen=True):
    """A row of `event_threads` (`events.threads` in PostgreSQL): a session, as people remember it."""

    id: str
    source: str
    channel: str | None
    title: str | None
    project: str | None
    parent_thread_id: str | None
    is_subagent: int
    created_at: int
    updated_at: int
    event_count: int


def threads(ledger: Ledger, *, after: str = "", limit: int = 100) -> list[EventThread]:
    """Threads in the order of their ids, after one."""
    return every(ledger, EventThread, "event_threads_page", after=after, limit=limit)


def thread(ledger: Ledger, thread_id: str) -> EventThread | None:
    """A thread by its id."""
    return first(ledger, EventThread, "event_thread", id=thread_id)


def events(ledger: Ledger, thread_id: str, *, after: tuple[int, str] = (-1, ""), limit: int = 1000) -> list[Event]:
    """The events of a thread in the order of time, after a (timestamp, id)."""
    return every(
        ledger, Event, "events_of_thread", thread_id=thread_id, after_at=after[0], after_id=after[1], limit=limit
    )


def event(ledger: Ledger, event_id: str) -> Event | None:
    """An event by its id."""
    return first(ledger, Event, "event_by_id", id=event_id)
