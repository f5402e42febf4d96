"""What a search finds: turns, grouped by the sessions in which they were written."""

from typing import Literal

from msgspec import Struct

Place = Literal["content", "thinking", "params", "result", "title", "summary", "path"]


class Snippet(Struct, frozen=True):
    """A piece of a text, and where the words stand in it that were looked for: (from, to) in characters."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


class Hit(Struct, frozen=True):
    """A turn that was found, once, however many of its parts match and however many sessions share it."""

    turn_id: str
    started_at: int
    model: str | None
    status: str
    place: Place
    role: str | None  # who said it; None where nobody did (a title, a path)
    tool: str | None
    snippet: Snippet
    score: float
    is_partial: bool = False  # not all of the words are in it


class Group(Struct, frozen=True):
    """The hits of one session, the best first."""

    session: str | None
    title: str | None
    project: str | None
    origin: str | None
    is_subagent: bool
    hits: tuple[Hit, ...]
    more: int = 0  # further hits of this session
    is_least: bool = False  # there may be more than that: older ones were not counted


class Found(Struct, frozen=True):
    """A page of hits."""

    groups: tuple[Group, ...]
    next: str | None = None  # the cursor of the next page
    by: Literal["words", "meaning", "both", "time"] = "words"

    @property
    def hits(self) -> list[Hit]:
        """All hits of the page, the best first."""
        return sorted((hit for group in self.groups for hit in group.hits), key=lambda hit: -hit.score)
