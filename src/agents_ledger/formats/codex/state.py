"""What a rollout's reader remembers from one record to the next: small, whatever the length of the file."""

import re
from hashlib import sha256

from msgspec import Struct, field

from agents_ledger.model.steps import Problem
from agents_ledger.model.texts import storable

# Made by the API or as UUIDs. Others are constants: 'review_rollout_user' (0.144) stands in a file once a review.
_UNIQUE = re.compile(r"[a-z]{1,8}_([0-9A-Za-z-]{12,})")
_AFTER_A_DIGIT = 11  # characters, at least
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
# Legacy forks write all copied lines at once, stamped with that moment; the first pause ends the copy.
_PAUSE_MS = 500
_UNKNOWN_TYPES = 50


class State(Struct):
    """The fields that the next record needs."""

    name: str  # whose it is if it has no header
    until: int | None = None
    line: int = 0  # records read
    place: int = 0  # of the next record, by Codex's own count where it has one
    stopped: bool = False
    # who
    session: str = ""
    root: str = ""  # the thread that copied lines were first written in
    copying: bool = False  # inside the lines that a legacy fork copied from its origin
    born: int | None = None  # when this thread began
    stamp: int | None = None  # time of the record before
    subagent: bool = False
    placed: bool = False  # the working folder is known
    # settings that were told last
    model: str | None = None
    provider: str | None = None
    is_fast: bool = False  # the service tier, by either of its names
    settings: str = ""
    # where we are
    turn: str = ""  # Codex's own id of the turn, where it has one
    asked: int = 0  # questions so far
    asked_in_turn: int = 0
    compactions: int = 0
    triggered: bool = False  # the next message of another agent starts a turn
    response: int = 0  # number of the API response that items belong to
    answering: bool = False  # it has begun
    # tokens
    totals: list[int] = field(default_factory=list)
    resets: int = 0
    exact: bool = False  # there are records for each API call (0.166): sums of them are not counted again
    unknown: list[str] = field(default_factory=list)

    def scope(self) -> str:
        """The thread that the present record was first written in."""
        return self.root if self.copying else self.session

    def tick(self, stamp: int | None) -> int | None:
        """Notes a record's time and gives it, unless it is the time of copying."""
        if self.copying and stamp is not None and self.stamp is not None and stamp - self.stamp > _PAUSE_MS:
            self.copying = False
        self.stamp = stamp if stamp is not None else self.stamp
        return None if self.copying else stamp

    def part(self) -> str:
        """The key of the API response that an item of the model belongs to."""
        self.answering = True
        return f"{self.session}:{self.response}"

    def pause(self) -> None:
        """What comes next from the model is another API response."""
        if self.answering:
            self.answering = False
            self.response += 1

    def begin_turn(self, turn: str) -> None:
        """Codex began a turn (by its own count)."""
        self.pause()
        if self.copying and self.born is not None and (_made_at(turn) or 0) >= self.born:
            self.copying = False  # a subagent that was given its parent's history goes on without any pause
        if turn != self.turn:
            self.turn, self.asked_in_turn = turn, 0

    def question(self, content: str, native_id: str | None, turn: str | None) -> str:
        """What identifies a question in this file and in copies of it; counts it."""
        turn = turn or self.turn
        if native_id:
            identity = native_id
        elif turn:
            identity = digest("turn", turn, str(self.asked_in_turn), content)
        else:
            identity = digest("thread", self.scope(), str(self.asked), content)
        self.asked += 1
        self.asked_in_turn += 1
        return identity

    def strange(self, kind: object) -> list[Problem]:
        """A problem for a type of entry that is not known, once for each."""
        name = storable(kind if isinstance(kind, str) else type(kind).__name__)[:80]
        if name in self.unknown or len(self.unknown) >= _UNKNOWN_TYPES:
            return []
        self.unknown.append(name)
        return [Problem("unknown-entry", name)]


def _made_at(uuid: str) -> int | None:
    """The time inside a UUID of version 7."""
    return int(uuid[:8] + uuid[9:13], 16) if _UUID7.fullmatch(uuid) else None


def unique(native_id: str | None) -> str | None:
    """An id that is an id."""
    found = _UNIQUE.fullmatch(native_id) if native_id else None
    return native_id if found and any(map(str.isdecimal, found[1][:-_AFTER_A_DIGIT])) else None


def digest(*parts: str) -> str:
    """A hash over texts, each with its length, as hexadecimal digits."""
    total = sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        total.update(b"%d:" % len(raw))
        total.update(raw)
    return total.hexdigest()
