"""Which lines of a transcript lead to its last one: the chain of `parentUuid`, and what stands beside it.

Nearly every line follows the one before it in the file. So the chain is kept as runs of such lines, and what has to
be looked up is only where a run begins.
"""

from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct


class Link(Struct, gc=False, rename="camel"):
    """What of a line makes the chain."""

    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    session_id: str | None = None

    @property
    def follows(self) -> str | None:
        """The line before it; of a compaction's boundary the one that is not in front of the model any more."""
        return self.parent_uuid or self.logical_parent_uuid


class _Part(Struct, gc=False):
    tool_use_id: str | None = None


class _Message(Struct, gc=False):
    id: str | None = None
    content: str | list[_Part] | None = None


class Said(Struct, gc=False, rename="camel"):
    """What of a line tells that it belongs to others which it does not lead to."""

    uuid: str | None = None
    parent_uuid: str | None = None
    message: _Message | None = None

    @property
    def answer(self) -> str | None:
        """The answer that it is a part of."""
        return None if self.message is None else self.message.id

    @property
    def is_result(self) -> bool:
        """Whether it brings a tool's result."""
        content = None if self.message is None else self.message.content
        return isinstance(content, list) and any(part.tool_use_id for part in content)


class Run(Struct, gc=False):
    """Lines of one session that follow each other: the number of the first, and that line."""

    start: int
    first: Link


class Chain:
    """All lines up to a leaf, by number. Those without an id are no part of any chain."""

    def __init__(self) -> None:
        self.names: list[str | None] = []
        self.runs: list[Run] = []
        self._last: str | None = None

    def add(self, links: list[Link]) -> None:
        """The next lines of the file."""
        head = self.runs[-1].first if self.runs else Link()
        last = self._last
        for number, link in enumerate(links, len(self.names)):
            if link.uuid is None:
                continue
            is_same = link.session_id == head.session_id and link.is_sidechain == head.is_sidechain
            if link.parent_uuid != last or last is None or not is_same:
                self.runs.append(Run(number, link))
                head = link
            last = link.uuid
        self._last = last
        self.names += [link.uuid for link in links]

    def to_last(self) -> "Choice | None":
        """The lines from the beginning to the last one; None if one of them is not there."""
        if not self.names or self.names[-1] is None:
            return None
        choice = Choice(bytearray(len(self.names)))
        numbers: dict[str | None, int] = {}
        starts = [run.start for run in self.runs]
        at: int | None = self._leaf()
        while at is not None and not choice.lines[at]:
            run = self.runs[bisect_right(starts, at) - 1]
            choice.take(run, at)
            if run.first.follows is None:
                break
            numbers = numbers or dict(zip(self.names, range(len(self.names)), strict=True))
            at = numbers.get(run.first.follows)
            if at is None and run.first.parent_uuid is not None and run is not self.runs[0]:
                return None  # a line between is broken, and Claude Code does not read it: the ledger knows more
        if None in self.names:
            for number, name in enumerate(self.names):
                if name is None:
                    choice.lines[number] = 0
        return choice

    def _leaf(self) -> int:
        """The number of the line that ends the chain: the last line, or what follows it but was written before it."""
        leaf = len(self.names) - 1
        ends = {run.first.parent_uuid: number for number, run in enumerate(self.runs)}
        seen = {leaf}
        while (number := ends.get(self.names[leaf])) is not None:
            is_last = number + 1 == len(self.runs)
            leaf = len(self.names) - 1 if is_last else self._end_of(number)
            if leaf in seen:
                break
            seen.add(leaf)
        return leaf

    def _end_of(self, number: int) -> int:
        """The number of the last line of a run."""
        end = self.runs[number + 1].start - 1
        while self.names[end] is None:
            end -= 1
        return end


class Choice(Struct):
    """Some of the lines, by number (1: it is one of them), and the sessions that they are of."""

    lines: bytearray
    sessions: set[str | None] = set()

    def take(self, run: Run, until: int) -> None:
        """The lines of a run up to one of them."""
        self.lines[run.start : until + 1] = b"\1" * (until + 1 - run.start)
        self.sessions.add(run.first.session_id)

    def take_beside(self, chain: Chain, said: Iterable[Said]) -> None:
        """What stands beside the chosen lines: parallel calls and their results."""
        names = {name for name, is_chosen in zip(chain.names, self.lines, strict=True) if is_chosen}
        answers: set[str | None] = set()
        others: list[tuple[int, Said]] = []
        for number, each in enumerate(said):
            if self.lines[number]:
                answers.add(each.answer)
            elif each.uuid is not None:
                others.append((number, each))
        found = True
        while found:  # a result may be written before the line that made the call
            found = False
            for number, other in others:
                is_part = other.answer is not None and other.answer in answers
                if not self.lines[number] and (is_part or (other.is_result and other.parent_uuid in names)):
                    self.lines[number] = 1
                    names.add(other.uuid)
                    found = True
