"""Many at a glance: sessions as they stand in a list, turns as they stand in a drawn tree."""

from msgspec import Struct

from agents_ledger.model.rows import SessionRow


class SessionLine(Struct, frozen=True):
    """A session as it stands in a list."""

    session: SessionRow
    depth: int | None
    thread_tokens: int | None
    model: str | None
    last_turn_at: int | None
    title: str | None = None
    project: str | None = None
    opening: str | None = None
    used_at: int | None = None  # None: unknown
    leads_to: str | None = None  # the session that its label means now, after a merge


def used_at(session: SessionRow, told_at: int | None) -> int | None:
    """When a session was last used. One without turns that came from a source: when that says, if it says anything.

    (Its row must have a time, and has that of a file: of whichever named it first.)
    """
    return session.updated_at if session.thread_id is not None or session.origin is None else told_at


class Live(Struct, frozen=True):
    """A turn that is being written, or that its writer left behind."""

    turn_id: str
    session_label: str
    is_left_behind: bool  # its writer is gone: whoever opens the ledger for writing next closes it as failed


class Node(Struct, frozen=True):
    """A turn as it stands in a drawn tree."""

    id: str
    parent_turn_id: str | None
    turn_type: str
    status: str
    model: str | None
    started_at: int
    tool_call_count: int
    depth: int
    segment_id: int
    opening: str | None


class Tree(Struct, frozen=True):
    """The turns of a tree from a depth on, parents first, and (label, head) of the sessions in it.

    `left_behind` are the live turns whose writers are gone.
    """

    root_id: str
    nodes: list[Node]
    heads: list[tuple[str, str]]
    first: int = 1
    left_behind: list[str] = []
