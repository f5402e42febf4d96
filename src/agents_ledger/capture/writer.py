"""What is about to be written, in one batch for many turns and sources, and what is there already."""

from collections.abc import Callable
from contextlib import ExitStack
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.capture.fitting import fitted
from agents_ledger.capture.turnstile import IN_DOUBT
from agents_ledger.errors import BadInput
from agents_ledger.ledger import Ledger, sealing, usage
from agents_ledger.ledger.build import Prepared, prepare
from agents_ledger.ledger.bulk import Batch
from agents_ledger.ledger.captured import StepRow
from agents_ledger.ledger.records import read_record
from agents_ledger.model.captures import Capture
from agents_ledger.model.entries import Turn
from agents_ledger.model.rows import Record
from agents_ledger.store import Tx

BATCH_BYTES = 16 << 20
SHORT_ID = 20  # shorter ids (pi's have 8 characters) are unique within their session only

Operation = Callable[[Batch], None]


class Pending(Struct):
    """A turn of this batch."""

    given: Prepared
    parent_id: str | None
    is_final: bool
    label: str


class Writer:
    """Collects operations and commits them together; answers for what is written and what is about to be."""

    def __init__(self, ledger: Ledger) -> None:
        self.database = ledger.database
        self.env = ledger.env
        self.turns: dict[str, Pending] = {}
        self.to_read_again: set[int] = set()  # captures whose open turns were taken over by others
        self.late_steps: dict[int, set[str]] = {}  # captures: ids of steps that they hold long after their children
        # captures that were read at a bad time, each with the one that tells the same otherwise: see `reconsidering`
        self.in_doubt: set[tuple[int, int]] = set()
        self._kept_doubts: set[tuple[int, int]] = set()
        self.database.expect_much()
        self.guard: Callable[[Tx], None] | None = None  # may refuse a batch, by raising
        self.commits = 0
        self._secret = self.database.write(sealing.secret)
        self.began: dict[str, int] = {}  # the first time that a source of this batch tells of a session
        self._operations: list[Operation] = []
        self._steps: dict[int, list[tuple[str, int]]] = {}
        self._states: dict[str, tuple[Any, ...] | None] = {}  # turns of the database that were asked for
        self._snapshot = ExitStack()
        self._view: Tx | None = None
        self._weight = 0
        self._next_capture = 1

    def renumber(self) -> None:
        """Begins where the captures in the database end, with the doubts that others have left."""
        with self.database.read() as tx:
            self._next_capture = int(tx.value("next_capture"))
            doubts = tx.value("fact", name=IN_DOUBT) or "[]"
        self.in_doubt = set(msgspec.json.decode(doubts, type=list[tuple[int, int]]))
        self._kept_doubts = set(self.in_doubt)

    def capture_id(self) -> int:
        """The number of a new capture."""
        self._next_capture += 1
        return self._next_capture - 1

    def add(self, operation: Operation, weight: int = 0) -> None:
        """Something to write with this batch."""
        self._operations.append(operation)
        self._weight += weight

    @property
    def is_full(self) -> bool:
        """Whether it is time to commit."""
        return self._weight >= BATCH_BYTES

    def flush(self) -> None:
        """Commits everything collected so far, all or nothing."""
        self.look_anew()
        if not self._operations:
            return
        operations = self._operations

        def body(tx: Tx) -> None:
            if self.guard is not None:
                self.guard(tx)
            batch = Batch(tx, self.env)
            for operation in operations:
                operation(batch)
            batch.finish()
            usage.catch_up(tx)
            if self.in_doubt != self._kept_doubts:
                tx.run("put_fact", name=IN_DOUBT, value=msgspec.json.encode(sorted(self.in_doubt)).decode())

        self.database.write(body)
        self._kept_doubts = set(self.in_doubt)
        self.commits += 1
        self._operations = []
        self._weight = 0
        self.turns.clear()
        self.began.clear()
        self._steps.clear()

    def look_anew(self) -> None:
        """Lets go of the snapshot: what is asked next is answered by the database as it is then."""
        self._states.clear()
        self._view = None
        self._snapshot.close()

    def prepare(self, turn: Turn) -> Prepared:
        """A turn's rows and commitments; the same again for the same turn of this ledger."""
        seed = sealing.seed_of(self._secret, turn.id or "")
        try:
            return prepare(turn, self.env, seed)
        except BadInput:
            return prepare(fitted(turn), self.env, seed)

    def stand(self, rows: list[StepRow]) -> None:
        """Where steps are."""
        for row in rows:
            self._steps.setdefault(row.step_key, []).append((row.turn_id, row.position))
        self.add(lambda batch: batch.stand(rows))

    # what is there

    def seen(self) -> Tx:
        """The database as it was after the last commit: one snapshot for a whole batch."""
        if self._view is None:
            self._view = self._snapshot.enter_context(self.database.read())
        return self._view

    def steps(self, key: int) -> list[tuple[str, int]]:
        """The turns and positions of a step."""
        found = {row[0]: row[1] for row in self.seen().rows("steps_by_key", step_key=key)}
        found.update(self._steps.get(key, ()))
        return sorted(found.items())

    def state(self, turn_id: str) -> tuple[Any, ...] | None:
        """Seal, parent, segment, hash and evidence of a turn in the database."""
        if turn_id not in self._states:
            self._states[turn_id] = self.seen().first("turn_state", id=turn_id)
        return self._states[turn_id]

    def record(self, turn_id: str) -> Record:
        """A whole turn."""
        pending = self.turns.get(turn_id)
        if pending is not None:
            return pending.given.record
        return read_record(self.seen(), turn_id)

    def parent(self, turn_id: str) -> str | None:
        """What a turn follows."""
        pending = self.turns.get(turn_id)
        if pending is not None:
            return pending.parent_id
        state = self.state(turn_id)
        return None if state is None else state[1]

    def is_open(self, turn_id: str) -> bool:
        """Whether a turn is in this batch, or in the database and not sealed: only such a turn can move."""
        state = self.state(turn_id)
        return turn_id in self.turns or (state is not None and state[0] == sealing.OPEN)

    def length(self, turn_id: str) -> int:
        """How many messages a turn has."""
        pending = self.turns.get(turn_id)
        if pending is not None:
            return len(pending.given.record.messages)
        return int(self.seen().value("message_count", turn_id=turn_id))

    def message_at(self, turn_id: str, index: int) -> str | None:
        """The id of one of a turn's messages."""
        pending = self.turns.get(turn_id)
        if pending is not None:
            rows = pending.given.record.messages
            return rows[index].id if 0 <= index < len(rows) else None
        found = self.seen().value("message_at", turn_id=turn_id, sequence=index)
        return None if found is None else str(found)

    def captures_of(self, label: str) -> list[Capture]:
        """The sources that a session was read from."""
        return [Capture(*row) for row in self.seen().rows("captures_of_session", label=label)]


def step_key(origin: str, session: str, native_id: str) -> int:
    """63 bits that stand for a step: of its session where ids are short, of all sessions of its origin otherwise."""
    scope = session if len(native_id) < SHORT_ID else ""
    text = f"{origin}\x1f{scope}\x1f{native_id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1
