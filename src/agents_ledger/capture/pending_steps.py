"""Steps that stand in a source before the step they follow, held back until that one has been read.

Claude Code 2.1.81 to 2.1.170 writes the result of a parallel tool call before the assistant line that made the call.
A step whose parent has not been read waits here, and so does everything below it. When the parent arrives, its
children are read in the order of the source. At most `WINDOW` steps wait at a time: beyond that the parents of the
first ones are taken for missing. Should one turn up later all the same, the source is read a second time, knowing
which parents are `late`.
"""

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import chain

from msgspec import Struct

from agents_ledger.capture.draft import Spot
from agents_ledger.model.steps import Step

WINDOW = 64  # steps; the largest distance seen in real files is 9 lines
LARGEST = 64 << 20  # bytes of source records that wait for late parents

Item = tuple[Step, int, str, int]  # step, time, evidence, number in the native chain
StepKey = tuple[str, str]  # the session, where ids are unique within it only, and the id


class PendingStep(Struct, eq=False):
    """A step that waits for its parent, with the steps right behind it that name no parent of their own."""

    number: int  # in the order of the source
    before: "Spot | PendingStep"  # what is in front of it in the source
    session: str
    parent: StepKey
    items: list[Item]
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
        self.window = self._limit = window
        self._by_parent: dict[StepKey, list[PendingStep]] = {}
        self._ready = Queue()  # their parents were read or given up, their turn has not come yet
        self._waiting: dict[StepKey, PendingStep] = {}  # by the names of the steps
        self._last: dict[str, PendingStep] = {}  # of the sessions whose last step waits

    @property
    def is_full(self) -> bool:
        """Whether so many steps wait that the first ones should be given up."""
        return self.count > self._limit

    def __contains__(self, name: StepKey) -> bool:
        """Whether a step waits here."""
        return name in self._waiting

    def __iter__(self) -> Iterator[PendingStep]:
        """The steps whose parents have not been read."""
        return chain.from_iterable(self._by_parent.values())

    def hold(
        self,
        item: Item,
        name: StepKey | None,
        parent: StepKey,
        number: int,
        before: Spot | PendingStep,
    ) -> None:
        """Keep a step until its parent has been read."""
        pending = PendingStep(number, before, item[0].session, parent, [], [])
        self._by_parent.setdefault(parent, []).append(pending)
        self._last[pending.session] = pending
        self.hold_behind(item, name)

    def hold_behind(self, item: Item, name: StepKey | None) -> bool:
        """Keep a step that follows the one before it in the source; False if that one does not wait."""
        pending = self._last.get(item[0].session)
        if pending is None:
            return False
        pending.items.append(item)
        if name is not None:
            pending.names.append(name)
            self._waiting[name] = pending
        self.count += 1
        self.size_bytes += _length(item[2])
        return True

    def last_of(self, session: str) -> PendingStep | None:
        """The last step of a session, if it waits."""
        return self._last.get(session)

    def close(self, session: str) -> None:
        """Note that the next step of a session is read at once: what names no parent follows that one."""
        self._last.pop(session, None)

    def children_of(self, name: StepKey) -> list[PendingStep]:
        """Take the steps that wait for a parent. They still count as waiting until they are read."""
        return self._by_parent.pop(name, [])

    def take_ready(self) -> "Queue":
        """Take the steps whose turn had not come yet."""
        ready, self._ready = self._ready, Queue()
        return ready

    def put_ready(self, queue: "Queue") -> None:
        """Keep steps whose parents are known until it is their turn."""
        self._ready = queue
        self._limit = max(self.window, 2 * self.count)

    def orphans(self, through: int, late: frozenset[str]) -> list[PendingStep]:
        """The steps up to a number whose parents do not wait themselves and are not late, in the order of the source.

        Of steps that follow each other in a circle, the first one.
        """
        found, seen = [], {id(pending): 0 for pending in self._ready}
        for walk, start in enumerate(sorted(self, key=_number), 1):
            pending: PendingStep | None = start
            while pending is not None and id(pending) not in seen:
                seen[id(pending)] = walk
                last, pending = pending, self._waiting.get(pending.parent)
            if pending is None and last.parent[1] not in late:
                found.append(last)
            elif pending is not None and seen[id(pending)] == walk:
                found.append(_first_of_circle(pending, self._waiting))
        return sorted((pending for pending in found if pending.number <= through), key=_number)

    def done(self, pending: PendingStep) -> None:
        """Forget a step that has been read."""
        for name in pending.names:
            if self._waiting.get(name) is pending:
                del self._waiting[name]
        self.count -= len(pending.items)
        self.size_bytes -= sum(_length(item[2]) for item in pending.items)
        if self._last.get(pending.session) is pending:
            del self._last[pending.session]

    def clear(self) -> None:
        """Drop everything."""
        self.count = self.size_bytes = 0
        self._by_parent.clear()
        self._ready = Queue()
        self._waiting.clear()
        self._last.clear()


class Queue:
    """Steps whose parents are known, taken in the order of the source."""

    def __init__(self, steps: Iterable[PendingStep] = ()) -> None:
        self._heap = [(pending.number, pending) for pending in steps]
        heapify(self._heap)

    def __iter__(self) -> Iterator[PendingStep]:
        """The steps, in no order."""
        return (pending for _, pending in self._heap)

    def add(self, steps: Iterable[PendingStep]) -> None:
        """Add steps. No two steps of a source have the same number."""
        for pending in steps:
            heappush(self._heap, (pending.number, pending))

    def pop(self, through: int) -> PendingStep | None:
        """Take the first step, unless it comes after a number."""
        return heappop(self._heap)[1] if self._heap and self._heap[0][0] <= through else None


def _first_of_circle(start: PendingStep, waiting: dict[StepKey, PendingStep]) -> PendingStep:
    """Of steps that follow each other in a circle, the first one in the source."""
    first, pending = start, waiting[start.parent]
    while pending is not start:
        first = min(first, pending, key=_number)
        pending = waiting[pending.parent]
    return first


def _number(pending: PendingStep) -> int:
    return pending.number


def _length(place: str) -> int:
    """How many bytes of the source a step was read from."""
    return int(place.rpartition("+")[2] or 0)
