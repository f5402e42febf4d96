"""Filters: what of the record is asked for. The same everywhere, on every list and every sum."""

import re
from datetime import tzinfo
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agents_ledger.errors import BadInput
from agents_ledger.model.ids import LAST, encode
from agents_ledger.model.texts import readable
from agents_ledger.model.times import parse, parse_end

SESSION_STATUSES = ("active", "archived", "deleted")
TURN_STATUSES = ("pending", "streaming", "completed", "failed")
_LARGEST = (1 << 63) - 1
_LAST_STAMP = (1 << 48) - 1
_RANDOM_BITS = 80
_LONGEST = 4096
_SPECIAL = "[!%_]"
_CAPITALS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")  # as both engines lower them


class Filters(Struct, frozen=True):
    """What is asked for; None asks for everything. Names may have `*` in them, and capitals do not matter."""

    origin: str | None = None  # the agent it came from
    channel: str | None = None  # where people talk to it: telegram, slack …
    project: str | None = None  # a working folder, the end of its path, or a folder that it is in
    model: str | None = None
    since: int | None = None  # Unix ms, included; of turns: the time in their id
    until: int | None = None  # Unix ms, excluded
    subagents: bool | None = None  # True: only theirs; False: none of theirs
    status: str | None = None  # of the session or of the turn: their words differ
    persona: str | None = None

    @property
    def about_sessions(self) -> "Filters":
        """Those that ask about sessions, without those that ask about turns alone."""
        status = self.status if self.status in SESSION_STATUSES else None
        return replace(self, model=None, since=None, until=None, status=status)

    def bound(self) -> dict[str, Any]:
        """The values of the parameters that the fragments in `filters.sql` name."""
        return {
            "f_origin": _pattern(self.origin),
            "f_channel": _pattern(self.channel),
            "f_channel_part": None if self.channel is None else f"%:{_pattern(self.channel)}:%",
            "f_project": _within(self.project),
            "f_project_end": _ending(self.project),
            "f_model": _pattern(self.model),
            "f_since": 0 if self.since is None else self.since,
            "f_until": _LARGEST if self.until is None else self.until,
            "f_since_id": "" if self.since is None else first_id(self.since),
            "f_until_id": LAST if self.until is None else first_id(self.until),
            "f_subagents": None if self.subagents is None else int(self.subagents),
            "f_session_status": self.status if self.status in SESSION_STATUSES else None,
            "f_turn_status": self.status if self.status in TURN_STATUSES else None,
            "f_persona": _pattern(self.persona),
        }


EVERYTHING = Filters()


def parsed(  # the words as people write them
    *,
    now: int,
    zone: tzinfo | None = None,
    since: str | None = None,
    until: str | None = None,
    status: str | None = None,
    **names: Any,
) -> Filters:
    """Filters from words: times as people say them (a day counts whole), a status of either kind."""
    if status is not None and status not in SESSION_STATUSES + TURN_STATUSES:
        raise BadInput(f"{status!r} is no status: {', '.join(SESSION_STATUSES + TURN_STATUSES)} are")
    begins = None if since is None else parse(since, now, zone)
    ends = None if until is None else parse_end(until, now, zone)
    if begins is not None and ends is not None and ends <= begins:
        raise BadInput(f"{until!r} is not after {since!r}: nothing can be between them")
    return Filters(since=begins, until=ends, status=status, **names)


def first_id(at_ms: int) -> str:
    """The smallest id of a time."""
    return encode(min(max(at_ms, 0), _LAST_STAMP) << _RANDOM_BITS)


def _pattern(text: str | None) -> str | None:
    return None if text is None else pattern(text)


def pattern(text: str) -> str:
    """A pattern for LIKE: `*` stands for anything, all else for itself."""
    return "%".join(_literal(part) for part in text.split("*"))


def _within(project: str | None) -> str | None:
    """A pattern for this folder and all in it."""
    return None if project is None else f"{_folder(project)}/%"


def _ending(project: str | None) -> str | None:
    """A pattern for folders whose path ends with these parts."""
    return None if project is None else f"%/{_folder(project).lstrip('/')}/"


def _folder(project: str) -> str:
    return _literal(project.replace("\\", "/").rstrip("/"))


def _literal(text: str) -> str:
    if readable(text)[1] is not None or len(text) > _LONGEST:
        raise BadInput(f"{text[:60]!r} can't be asked for: pass text without NUL, of at most {_LONGEST} characters")
    return re.sub(_SPECIAL, r"!\g<0>", text.translate(_CAPITALS))
