"""Steps that stand in a source before the step they follow, held back until that one has been read.

Claude Code 2.1.81 to 2.1.170 writes the result of a parallel tool call before the assistant line that made the call.
A step whose parent has not been read waits here, and so does everything below it. When the parent arrives, its
children are read in the order of the source. At most `WINDOW` steps wait at a time: beyond that the parent of the
first one is taken for missing. Should it turn up later all the same, the source is read a second time, knowing which
parents are `late`.
"""

from bisect import insort
from collections.abc import Iterator

from msgspec import Struct

from agents_ledger.capture.draft import Spot
from agents_ledger.model.steps import Step

WINDOW = 64  # steps; the largest distance seen in real files is 9 lines
LARGEST = 64 << 20  # bytes of source records that wait for late parents

StepKey = tuple[str, str]  # the session, where ids are unique within it only, and the id


class PendingStep(Struct, eq=False):
    """A step that waits for its parent, with the steps right behind it that name no parent of their own."""

    number: int  # in the order of the source
    before: "Spot | PendingStep"  # what is in front of it in the source
    session: str
    parent: StepKey
    items: list[tuple[Step, int, str]]  # step, time, evidence
    names: list[StepKey]
    end: Spot | None = None  # the place behind it, once it has been read

    @property
    def before_spot(self) -> Spot | None:
        """The place behind what is in front of it in the source; None as long as that waits itself."""
        return self.before.end if isinstance(self.before, PendingStep) else self.before


class PendingSteps:
    """The steps of one source that wait for their parents."""

    def __init__(self, window: int) -> None:
        self.count = 0
        self.size_bytes = 0
        self._window = self._limit = window
        self._by_parent: dict[StepKey, list[PendingStep]] = {}
        self._names: set[StepKey] = set()
        self._last: dict[str, PendingStep] = {}  # of the sessions whose last step waits

    @property
    def is_full(self) -> bool:
        """Whether so many steps wait that the first ones should be given up."""
        return self.count > self._limit

    def __contains__(self, name: StepKey) -> bool:
        """Whether a step waits here."""
        return name in self._names

    def hold(
        self,
        step: Step,
        at: int,
        place: str,
        name: StepKey | None,
        parent: StepKey,
        number: int,
        before: Spot | PendingStep,
    ) -> None:
        """Keep a step until its parent has been read."""
        pending = PendingStep(number, before, step.session, parent, [], [])
        self._by_parent.setdefault(parent, []).append(pending)
        self._last[step.session] = pending
        self.hold_behind(step, at, place, name)

    def hold_behind(self, step: Step, at: int, place: str, name: StepKey | None) -> bool:
        """Keep a step that follows the one before it in the source; False if that one does not wait."""
        pending = self._last.get(step.session)
        if pending is None:
            return False
        pending.items.append((step, at, place))
        if name is not None:
            pending.names.append(name)
            self._names.add(name)
        self.count += 1
        self.size_bytes += _length(place)
        return True

    def last_of(self, session: str) -> PendingStep | None:
        """The last step of a session, if it waits."""
        return self._last.get(session)

    def close(self, session: str) -> None:
        """Note that the next step of a session is read at once: what names no parent follows that one."""
        self._last.pop(session, None)

    def released_by(self, name: StepKey) -> list[PendingStep]:
        """Take out the steps that waited for one that has just been read."""
        found = self._by_parent.pop(name, [])
        self._forget(found)
        return found

    def given_up(self, most: int, late: frozenset[str]) -> Iterator[PendingStep]:
        """Take out the first steps whose parents do not wait themselves and are not late, until only so many wait.

        Of parents in a circle, the first step. What waits for a released step is to be released by the caller.
        """
        while self.count > most and (first := self._first_orphan(late)) is not None:
            waiting = self._by_parent[first.parent]
            waiting.remove(first)
            if not waiting:
                del self._by_parent[first.parent]
            self._forget([first])
            yield first
        self._limit = max(self._window, 2 * self.count)

    def __iter__(self) -> Iterator[PendingStep]:
        return (pending for found in self._by_parent.values() for pending in found)

    def clear(self) -> None:
        """Drop everything."""
        self.count = self.size_bytes = 0
        self._by_parent.clear()
        self._names.clear()
        self._last.clear()

    def _first_orphan(self, late: frozenset[str]) -> PendingStep | None:
        roots = [each[0] for parent, each in self._by_parent.items() if parent not in self._names]
        if not roots:
            return min((each[0] for each in self._by_parent.values()), key=_number, default=None)
        return min((each for each in roots if each.parent[1] not in late), key=_number, default=None)

    def _forget(self, found: list[PendingStep]) -> None:
        for pending in found:
            self._names.difference_update(pending.names)
            self.count -= len(pending.items)
            self.size_bytes -= sum(_length(place) for _, _, place in pending.items)
            if self._last.get(pending.session) is pending:
                del self._last[pending.session]


def in_order(queue: list[PendingStep], found: list[PendingStep]) -> None:
    """Put released steps into a queue, in the order of the source."""
    for pending in found:
        insort(queue, pending, key=_number)


def _number(pending: PendingStep) -> int:
    return pending.number


def _length(place: str) -> int:
    """How many bytes of the source a step was read from."""
    return int(place.rpartition("+")[2] or 0)
