"""What a sync has done."""

from collections.abc import Callable

from msgspec import Struct

Progress = Callable[[int, int, str], None]  # bytes done, bytes in all, the source


class Summary(Struct):
    """What a sync has done."""

    found: int = 0
    unchanged: int = 0
    new: int = 0
    grown: int = 0
    rewritten: int = 0
    gone: int = 0
    bytes_read: int = 0
    problems: int = 0
    sessions: int = 0  # in the ledger now, and how many of them are new
    new_sessions: int = 0
    turns: int = 0
    new_turns: int = 0
    kept: list[str] = []  # no format recognises them, and they are kept as evidence
    unrecognised: list[str] = []  # no format recognises them, and they are not kept
    unreadable: list[str] = []
    sources: dict[str, int] = {}
