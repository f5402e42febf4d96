"""A conversation once more, as it happened: events in their order, with the time between them.

A call follows the message that asked for it, its result follows the call, and a model speaks on when it has the
results; within that, the times decide that sources give. Turns are read a few at a time, each time in a short
snapshot of its own, so that nobody's database waits while a person looks.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from agents_ledger.ledger import context, records, threads
from agents_ledger.model.entries import OPEN_CALLS
from agents_ledger.model.rows import CallRow, MessageRow, Record, UsageRow
from agents_ledger.store import Database

Kind = Literal["turn", "message", "call", "result", "end"]
_PAGE = 8  # turns in one read
_UNFINISHED = (*OPEN_CALLS, "abandoned")


class Seen(Struct, frozen=True):
    """What a model had before it when it spoke: how much of what."""

    turns: int  # earlier ones, as far as they are in the context
    messages: int  # of these turns, and of this one so far
    calls: int
    text_chars: int  # of messages, parameters and results
    system_chars: int
    summary_chars: int  # of the summary (or the new context) that stands for what came before
    compaction_turn_id: str | None


class Event(Struct, frozen=True):
    """One thing that happened: a turn began or ended, a message, a call, its result."""

    kind: Kind
    record: Record
    at: int  # as its source says
    after_ms: int  # since the event before it; never negative, whatever the clocks said
    message: MessageRow | None = None
    call: CallRow | None = None
    usage: UsageRow | None = None  # of the call to a model that gave the message
    seen: Seen | None = None


class Replay:
    """The turns of a thread between two depths, as events. Nothing is read before it is asked for."""

    def __init__(self, database: Database, turn_id: str, first: int, last: int, *, sees: bool = False) -> None:
        self.turn_id = turn_id
        self.first = first
        self.last = last
        self._database = database
        self._page: dict[int, Record] = {}
        self._sees = sees  # whether somebody wants to know what the model saw
        self._sight: tuple[int, Sight] | None = None  # after a depth

    def __iter__(self) -> Iterator[Event]:
        before = None
        for depth in range(self.first, self.last + 1):
            for event in self.turn(depth, before):
                yield event
            before = event

    def turn(self, depth: int, before: Event | None = None) -> list[Event]:
        """The events of one turn; `before` is the last one of the turn before it."""
        record = self._record(depth)
        events = events_of(record, before)
        return self._seen(depth, record, events) if self._sees else events

    def _seen(self, depth: int, record: Record, events: list[Event]) -> list[Event]:
        sight = self._sight_before(depth)
        found = [sight.at(event) for event in events]
        sight.close(record)
        if record.compaction is not None:
            sight = self._assembled(record.turn.id)
        self._sight = (depth, sight)
        return found

    def context(self, depth: int) -> context.Context | None:
        """The whole context that a turn began with; None for a root."""
        parent = self._record(depth).turn.parent_turn_id
        if parent is None:
            return None
        with self._database.read() as tx:
            return context.assemble(tx, parent)

    def _record(self, depth: int) -> Record:
        if depth not in self._page:
            with self._database.read() as tx:
                turns = list(threads.path(tx, self.turn_id, depth, min(depth + _PAGE - 1, self.last)))
                self._page = {record.turn.depth: record for record in records.complete_all(tx, turns)}
        return self._page[depth]

    def _sight_before(self, depth: int) -> "Sight":
        if self._sight is not None and self._sight[0] == depth - 1:
            return self._sight[1]
        parent = self._record(depth).turn.parent_turn_id
        return Sight() if parent is None else self._assembled(parent)

    def _assembled(self, turn_id: str) -> "Sight":
        with self._database.read() as tx:
            return Sight.of(context.assemble(tx, turn_id))


def replay(database: Database, turn_id: str, first: int | None = None, *, sees: bool = False) -> Replay:
    """A turn's thread from a depth on (the first turn, if nothing is said) to the turn itself."""
    with database.read() as tx:
        last = records.read_turn(tx, turn_id).depth
    return Replay(database, turn_id, min(max(first or 1, 1), last), last, sees=sees)


def events_of(record: Record, before: Event | None = None) -> list[Event]:
    """What happened in a turn, in order; `before` is the event before it."""
    steps = sorted(_timed(record), key=lambda step: step.when)  # stable: what has the same time stays in its order
    usages = {row.message_id: row for row in record.usages if row.message_id is not None}
    found: list[Event] = []
    clock = None if before is None else max(before.at, before.record.turn.completed_at or 0)
    for step in steps:
        after_ms = 0 if clock is None else max(0, step.when - clock)
        clock = step.when if clock is None else max(clock, step.when)
        usage = None if step.message is None else usages.get(step.message.id)
        found.append(Event(step.kind, record, step.at, after_ms, step.message, step.call, usage))
    return found


class _Step(Struct):
    """An event before it has its place: when it can have happened, and when its source says it did."""

    kind: Kind
    when: int
    at: int
    message: MessageRow | None = None
    call: CallRow | None = None


def _timed(record: Record) -> Iterator[_Step]:
    turn = record.turn
    yield _Step("turn", turn.started_at, turn.started_at)
    clock = answered = last = turn.started_at
    unfinished: list[CallRow] = []
    for part in context.in_order(record.messages, record.calls):
        if isinstance(part, MessageRow):
            clock = max(clock, part.created_at, answered if part.role == "assistant" else 0)
            yield _Step("message", clock, part.created_at, message=part)
            last = max(last, clock)
            continue
        asked = max(clock, part.started_at)
        yield _Step("call", asked, part.started_at, call=part)
        last = max(last, asked)
        if part.completed_at is None and part.status in _UNFINISHED:
            unfinished.append(part)
            continue
        done = max(asked, part.completed_at or asked)
        yield _Step("result", done, part.completed_at or part.started_at, call=part)
        answered, last = max(answered, done), max(last, done)
    ended = max(last, turn.completed_at or last)
    for call in unfinished:
        yield _Step("result", ended, turn.completed_at or ended, call=call)
    if turn.completed_at is not None:
        yield _Step("end", ended, turn.completed_at)


class Sight:
    """What a model sees, while a conversation goes on: each event adds to it."""

    def __init__(self) -> None:
        self._system = self._summary = self._turns = self._messages = self._calls = self._text = 0
        self._compaction: str | None = None
        self._leading: set[str] = set()

    @classmethod
    def of(cls, seen: context.Context) -> "Sight":
        """What is seen after a turn."""
        sight = cls()
        sight._system = _chars(seen.system)
        sight._summary = len(seen.summary or "") + (0 if seen.replacement is None else len(str(seen.replacement)))
        sight._compaction = seen.compaction_turn_id
        for turn in seen.turns:
            sight._turns += 1
            sight._messages += len(turn.messages)
            sight._calls += len(turn.calls)
            sight._text += _chars(turn.messages) + sum(_asked(call) + _answered(call) for call in turn.calls)
        return sight

    def at(self, event: Event) -> Event:
        """An event with what was seen before it, where it is a model that speaks; then it is seen, too."""
        if event.kind == "turn" and (leading := context.leading_system(event.record.messages)):
            self._system, self._leading = _chars(leading), {row.id for row in leading}
        speaks = event.message is not None and event.message.role == "assistant"
        with_seen = _with(event, self._seen()) if speaks else event
        if event.message is not None and event.message.id not in self._leading:
            self._messages += 1
            self._text += len(event.message.content or "")
        elif event.call is not None:
            self._calls += event.kind == "call"
            self._text += _asked(event.call) if event.kind == "call" else _answered(event.call)
        return with_seen

    def close(self, record: Record) -> None:
        """A turn has ended."""
        self._turns += bool(record.calls or len(record.messages) > len(self._leading))
        self._leading = set()

    def _seen(self) -> Seen:
        return Seen(
            self._turns,
            self._messages,
            self._calls,
            self._text,
            self._system,
            self._summary,
            self._compaction,
        )


def _with(event: Event, seen: Seen) -> Event:
    return Event(event.kind, event.record, event.at, event.after_ms, event.message, event.call, event.usage, seen)


def _chars(messages: list[MessageRow]) -> int:
    return sum(len(row.content or "") for row in messages)


def _asked(call: CallRow) -> int:
    return len(call.params_json)


def _answered(call: CallRow) -> int:
    return len(call.result_json or "") + len(call.error or "")
