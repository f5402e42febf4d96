"""A whole thread as people read it: every turn from the first to the last, also what a compaction took away."""

from collections.abc import Iterable

from msgspec import Struct

from agents_ledger.model.rows import CompactionRow, TurnRow
from agents_ledger.model.story import Entry


class Chapter(Struct, frozen=True):
    """One turn: its facts, and what was said and done in it."""

    turn: TurnRow
    entries: tuple[Entry, ...]
    compaction: CompactionRow | None = None


class Chronicle(Struct, frozen=True, kw_only=True):
    """All of it. `chapters` are told one after the other while the snapshot of the ledger is open, and once only."""

    turn_id: str
    root_id: str
    depth: int  # of the last turn: how many there are
    started_at: int
    ended_at: int
    chapters: Iterable[Chapter]
    label: str | None = None  # the session's
    origin: str | None = None  # its agent
    origin_session_id: str | None = None
    title: str | None = None
    project: str | None = None
    git_branch: str | None = None
    model: str | None = None  # of the last turn
    tokens: int | None = None
