"""The active chain of a source: its entries as the agent linked them, and the turns that they were read into.

Most agents name the parent of each entry; in the others an entry follows the one before it. Walking from the last
entry to the first gives the history that the agent itself would continue: the active chain. Every entry of it must be
in a turn on the path to the turn that its session points at. `captures` keeps both counts and `ldg verify` compares
them. Parents are resolved here independently of the assembler, so that a mistake there shows as a difference.

An entry costs 32 bytes of memory, whatever its size. Of a source that grows, the last entries are known from what was
kept of its chain; when a chain leaves the new part elsewhere, its counts are unknown until the source is read whole.
"""

from array import array
from collections import deque
from heapq import heappop, heappush

from msgspec import Struct

from agents_ledger.capture.draft import Draft
from agents_ledger.model.steps import AFTER_LAST, Answered, Compacted, Moved, Said, Step

_RECENT = 4096  # entries whose ids are looked up at once; older ones are looked for when the source has been read
_KEPT = 8  # entries of a session that are remembered until the source grows
_NONE, _UNKNOWN = -1, -2  # instead of a parent's number: it has none; it was not found (yet)
_ALWAYS = (Said, Answered, Compacted, Moved)  # kinds of steps that are entries even without an id


class Counts(Struct, frozen=True):
    """How many entries the active chain has, and how many of them are in turns on the path to the session's head."""

    entries: int
    under_head: int

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.entries + other.entries, self.under_head + other.under_head)


class KnownEntry(Struct, array_like=True):
    """An entry that was read earlier: its id, its turn, and the counts of the chain up to it."""

    native_id: str
    turn_id: str
    counts: Counts


class NativeChain:
    """The entries of one source, numbered in its order."""

    __slots__ = (
        "_chains",
        "_children",
        "_counts",
        "_is_resumed",
        "_keys",
        "_known",
        "_last",
        "_missing",
        "_numbers",
        "_older",
        "_parents",
        "_placed",
        "_questions",
        "_recent",
        "_session_numbers",
        "_sessions",
        "_token",
        "_turns",
        "_unsettled",
        "has_contradictions",
    )

    def __init__(self) -> None:
        self._keys = array("q")  # hashes of ids
        self._parents = array("q")
        self._turns = array("q")  # positions in `_placed`
        self._sessions = array("q")  # numbers of sessions
        self._session_numbers: dict[str, int] = {}
        self._placed = [""]  # ids of turns
        self._unsettled: dict[int, list[int]] = {}  # positions in `_placed`, by the Python ids of turns being read
        self._token: int | str | None = None  # what was placed last
        self._numbers: dict[int, int] = {}  # of recent entries, by key
        self._older: dict[int, int] = {}
        self._missing: dict[int, int] = {}  # entries whose parents were not found, with the keys of these
        self._children: dict[int, list[int]] = {}  # from the first entry on that was written before its parent
        self._last: dict[str, int] = {}  # the last entry of each session
        self._recent: dict[str, deque[tuple[str, int]]] = {}
        self._questions: set[int] = set()
        self._known: dict[int, KnownEntry] = {}  # entries that were read earlier
        self._is_resumed = False
        self.has_contradictions = False  # the same id twice with different parents, or entries in a circle
        self._chains: dict[str, list[int] | None] = {}
        self._counts: dict[str, Counts] = {}

    def add(self, step: Step, key: int | None, parent: int | None) -> int:
        """Number the next entry of the source; the keys stand for its id and its parent's. -1: it is no entry."""
        if key is None and not isinstance(step, _ALWAYS):
            return -1
        session, number = step.session, len(self._keys)
        if parent is not None:
            known = self._numbers.get(parent)
            found = self._older.get(parent, _UNKNOWN) if known is None else known
            if found == _UNKNOWN:
                self._missing[number] = parent
        elif step.parent == AFTER_LAST:
            found = self._last.get(session, _NONE)
        else:
            found = _NONE
        if key is not None:
            if key in self._numbers or key in self._older:
                self._compare(key, parent, found)
            self._remember(step, key, number)
        if isinstance(step, Said):
            if step.starts_turn:
                self._questions.add(number)
        elif isinstance(step, Moved) and step.to is None:
            found = self._back(found, step.turns or 0)
        self._append(session, key or 0, found)
        self._last[session] = number
        return number

    def place(self, number: int, turn: Draft | str) -> None:
        """Note the turn that an entry was read into."""
        if number < 0:
            return
        token = id(turn) if isinstance(turn, Draft) else turn
        if token != self._token:
            self._token = token
            self._placed.append(turn.id if isinstance(turn, Draft) else turn)
            if isinstance(turn, Draft):
                self._unsettled.setdefault(id(turn), []).append(len(self._placed) - 1)
        self._turns[number] = len(self._placed) - 1

    def settle(self, draft: Draft) -> None:
        """Note the id under which a turn was stored: it may be another one than while the turn was read."""
        for at in self._unsettled.pop(id(draft), ()):
            self._placed[at] = draft.id
        self._token = None

    def turns(self, session: str) -> set[str]:
        """The turns that the entries of a session's chain were read into."""
        places = set(map(self._turns.__getitem__, self._chain(session) or ()))
        return {self._placed[at] for at in places}

    def known(self, session: str) -> KnownEntry | None:
        """The entry read earlier with which the new part of a session's chain begins."""
        chain = self._chain(session)
        return self._known.get(chain[-1]) if chain else None

    def count(self, session: str, path: set[str]) -> Counts | None:
        """Count the entries of a session's chain, and those in turns on a path; None if the chain is not known."""
        chain = self._chain(session)
        if chain is None:
            return None
        is_under = [turn in path for turn in self._placed]
        counts = Counts(len(chain), sum(map(is_under.__getitem__, map(self._turns.__getitem__, chain))))
        known = self.known(session)
        if known is not None:  # it stands for all entries up to it
            under = known.counts.under_head - 1 if is_under[self._turns[chain[-1]]] else 0
            counts += Counts(known.counts.entries - 1, under)
        self._counts[session] = counts
        return counts

    def state(self, session: str) -> list[KnownEntry]:
        """The last entries of a session's chain, to resume from; nothing if the chain is not known or is split."""
        chain, counts = self._chain(session), self._counts.get(session)
        if not chain or counts is None or counts.under_head < counts.entries:
            return []
        names = {number: name for name, number in self._recent.get(session, ())}
        names.setdefault(chain[0], "")
        found = []
        for behind, number in enumerate(chain[:_KEPT]):
            if number in names and number not in self._known:
                turn_id, entries = self._placed[self._turns[number]], counts.entries - behind
                found.append(KnownEntry(names[number], turn_id, Counts(entries, entries)))
        return found[::-1] or [each for each in (self.known(session),) if each is not None]

    def resume(self, session: str, known: list[KnownEntry], keys: list[int]) -> None:
        """Continue a session's chain behind the entries that were read earlier, whose ids have these keys."""
        self._is_resumed = True
        for entry, key in zip(known, keys, strict=True):
            number = len(self._keys)
            self._known[number] = entry
            self._append(session, key, _NONE)
            self.place(number, entry.turn_id)
            if entry.native_id:
                self._numbers[key] = number
            self._last[session] = number
        if not known:  # its chain was not known: nor is one that follows it
            self._last[session] = len(self._keys)
            self._append(session, 0, _UNKNOWN)

    # how

    def _append(self, session: str, key: int, parent: int) -> None:
        self._sessions.append(self._session_numbers.setdefault(session, len(self._session_numbers)))
        self._keys.append(key)
        self._parents.append(parent)
        self._turns.append(0)

    def _compare(self, key: int, parent: int | None, found: int) -> None:
        """Note whether an entry that the source has twice has two parents."""
        other = self._numbers.get(key, self._older.get(key, _NONE))
        if other not in self._known:
            is_other = self._parents[other] != found or self._missing.get(other, parent) != parent
            self.has_contradictions |= is_other

    def _remember(self, step: Step, key: int, number: int) -> None:
        self._numbers[key] = number
        if len(self._numbers) >= _RECENT:
            self._older, self._numbers = self._numbers, {}
        recent = self._recent.get(step.session)
        if recent is None:
            recent = self._recent[step.session] = deque(maxlen=_KEPT)
        recent.append((step.native_id or "", number))

    def _back(self, number: int, turns: int) -> int:
        """The entry in front of the question so many questions earlier."""
        for _ in range(turns):
            while number >= 0 and number not in self._questions and number not in self._known:
                number = self._parents[number]
            if number in self._known:
                return _UNKNOWN
            if number < 0:
                break
            number = self._parents[number]
        return number

    def _chain(self, session: str) -> list[int] | None:
        """The active chain of a session, the last entry first; None if a part of it is not known."""
        if session not in self._chains:
            self._find_missing()
            self._chains[session] = self._walk(session)
        return self._chains[session]

    def _walk(self, session: str) -> list[int] | None:
        chain: list[int] = []
        seen = bytearray(len(self._keys))
        number = self._leaf(self._last.get(session, _NONE))
        while number >= 0 and not seen[number]:
            seen[number] = 1
            chain.append(number)
            if number in self._known:
                return chain
            number = self._parents[number]
        self.has_contradictions |= number >= 0
        # a parent that is not in the new part of a source may be in the part that was read earlier
        return None if number == _UNKNOWN and self._is_resumed else chain

    def _leaf(self, last: int) -> int:
        """The entry that ends a chain: the last one, or what follows that although it was written before it."""
        leaf, queue = last, [last]
        while queue:
            leaf = heappop(queue)
            for child in self._children.get(leaf, ()):
                if child < last and self._sessions[child] == self._sessions[last]:
                    heappush(queue, child)
        return leaf

    def _find_missing(self) -> None:
        """Find the parents that stand after their children, or long before."""
        wanted = set(self._missing.values())
        found: dict[int, int] = {}
        for number, key in enumerate(self._keys if wanted else ()):
            if key in wanted:
                found.setdefault(key, number)
        for number, key in self._missing.items():
            self._parents[number] = found.get(key, _UNKNOWN)
        early = [number for number in self._missing if self._parents[number] > number]
        for number in range(min(early), len(self._parents)) if early else ():
            self._children.setdefault(self._parents[number], []).append(number)
        self._missing = {}
