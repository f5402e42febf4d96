"""Many new turns in one transaction: their rows go in table by table, not turn by turn.

What goes in is what `captured.put` and `captured.move_to` would write. Whatever else is asked of the transaction comes
after it: a `Batch` is a transaction that first writes what it has collected.
"""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

import msgspec

from agents_ledger.ledger import captured, compact, notes, usage
from agents_ledger.ledger.append import insert_parts, place_under
from agents_ledger.ledger.build import Place, Prepared, settle
from agents_ledger.ledger.captured import StepRow
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.sealing import OPEN
from agents_ledger.ledger.search import Numbered, index_new, numbered
from agents_ledger.model.hashes import leaf, move_facts, turn_hash
from agents_ledger.model.rows import CompactionRow, LogRow, MoveRow, Record, TurnRow
from agents_ledger.store import Tx
from agents_ledger.store.database import Row


class Batch(Tx):
    """A transaction that collects new turns; `beside` is for what has nothing to do with them."""

    def __init__(self, tx: Tx, env: Env) -> None:
        self.beside = tx
        self.env = env
        self._turns: dict[str, Record] = {}
        self._places: set[tuple[int, int]] = set()  # segment and depth of the turns in this batch
        self._parents: list[str] = []  # turns of the database that have their first child in this batch
        self._heads: dict[str, str | None] = {}
        self._moves: dict[str, list[MoveRow]] = {}
        self._told: list[Callable[[Tx], None]] = []
        self._expected: set[str] = set()  # sessions that are made by one of these
        self._steps: list[StepRow] = []
        self._unindexed: list[Numbered] = []
        self._notes: list[notes.Note] = []
        self._logged: list[tuple[int, int]] = []  # the log entries of the turns whose parts these are: after, through

    def run(self, name: str, /, **params: Any) -> None:
        """Runs a statement, after what was collected."""
        self.drain()
        if name == "unindex_parts":
            self._index()  # what leaves the index must be in it
        self.beside.run(name, **params)

    def run_all(self, name: str, values: Iterable[object]) -> None:
        """Runs a statement for each value, after what was collected."""
        self.drain()
        self.beside.run_all(name, values)

    def each(self, name: str, /, **params: Any) -> Iterator[Row]:
        """The rows of a query, which sees what was collected."""
        self.drain()
        return self.beside.each(name, **params)

    def rows(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a query, which sees what was collected."""
        self.drain()
        return self.beside.rows(name, **params)

    def put(self, given: Prepared, parent_id: str | None, *, is_final: bool) -> None:
        """Puts a turn in; one that is new waits for the others."""
        record = given.record
        turn = record.turn
        above = None if parent_id is None else self._turns.get(parent_id)
        is_known = turn.id in self._turns or self.beside.first("turn_state", id=turn.id) is not None
        must_seal = is_final and above is not None and above.turn.seal_seq == OPEN
        if is_known or must_seal:
            captured.put(self, self.env, given, parent_id, is_final=is_final)
            return
        if record.compaction is not None and not self._fits(record.compaction, above):
            self._fit(record.compaction, parent_id)
            above = None
        place = self._under(above, parent_id, turn.id, is_open=not is_final)
        settle(record, place)
        turn.turn_hash, turn.seal_seq = b"", OPEN
        if is_final:
            turn.turn_hash = turn_hash(record, place.parent_hash, given.parts, given.commitments)
            turn.seal_seq = None  # known with its log entry
        else:
            turn.seal_salt = b""
        self._turns[turn.id] = record
        self._places.add((turn.segment_id, turn.depth))

    def point(self, label: str, turn_id: str, at: int, reason: str) -> None:
        """Lets a session point at a turn that was read from its source."""
        head = self.head(label)
        if head == turn_id:
            return
        record = self._turns.get(turn_id)
        if record is None:
            captured.move_to(self, label, turn_id, at, reason)
            self._heads.pop(label, None)
            return
        why = "import" if reason == "advance" and record.turn.parent_turn_id != head else reason
        self._moves.setdefault(label, []).append(MoveRow(0, label, turn_id, at, head, why))
        self._heads[label] = turn_id

    def head(self, label: str) -> str | None:
        """Where a session points."""
        if label not in self._heads:
            row = self.beside.first("session_by_label", label=label)
            assert row is not None or label in self._expected, "it was made before"  # noqa: S101
            self._heads[label] = None if row is None else row[1]
        return self._heads[label]

    def tell(self, label: str, write: Callable[[Tx], None]) -> None:
        """Something about a session, which is made if need be: written after the turns, in this order.

        Rows of sessions lie anywhere in their tables. A page that changes before the turns and once more after
        them was written to the WAL meanwhile: then SQLite reads and sums up anew all that follows it there.
        """
        self._told.append(write)
        self._expected.add(label)

    def stand(self, rows: list[StepRow]) -> None:
        """Where steps are."""
        self._steps += rows

    def drain(self) -> None:
        """Writes what was collected."""
        if self._steps:
            steps, self._steps = self._steps, []
            self.beside.run_all("insert_step", sorted(steps, key=attrgetter("step_key")))  # page by page
        self._drain_turns()

    def _drain_turns(self) -> None:
        self._heads.clear()  # whoever asks for this may move them
        records, moves, told = list(self._turns.values()), self._moves, self._told
        self._turns, self._moves, self._places, self._told = {}, {}, set(), []
        self._expected.clear()
        if records:
            self._put_turns(records)
        for write in told:
            write(self.beside)
        if moves:
            self._put_moves(moves)
        if records:
            usage.catch_up(self.beside)  # now, while all of it is in the cache: half the time of doing it at the end

    def _put_turns(self, records: list[Record]) -> None:
        together = _together(records)
        self._unindexed += numbered(together.messages, together.calls, *(self.beside.first("last_numbers") or ()))
        self._notes += [found for record in records for found in notes.notes_of(record)]
        insert_parts(self.beside, together)
        self._log(self._seals([record.turn for record in records]))
        parents, self._parents = self._parents, []
        for parent_id in dict.fromkeys(parents):
            self.beside.run("mark_parent", id=parent_id)
        self._insert_turns(records)

    def _put_moves(self, moves: dict[str, list[MoveRow]]) -> None:
        self._log(self._moved(moves))
        for label, rows in moves.items():
            self.beside.run_all("insert_move", rows)
            last = rows[-1]
            args = {"thread_id": last.thread_id, "expected": rows[0].from_thread_id, "at": last.changed_at}
            moved = self.beside.value("point_session", label=label, **args)
            assert moved == label, "the head was read in this transaction"  # noqa: S101

    def finish(self) -> None:
        """Writes what was collected, and then the search index.

        At the very end: a guarded statement after it would make FTS5 write out what it has sorted so far.
        """
        self.drain()
        self._index()

    def _index(self) -> None:
        found, self._notes = self._notes, []
        notes.put(self.beside, found)
        rows, self._unindexed = self._unindexed, []
        logged, self._logged = self._logged, []
        index_new(self.beside, rows, logged)

    def _insert_turns(self, records: list[Record]) -> None:
        """The turns in their order, each compaction between those that it names and its own."""
        turns: list[TurnRow] = []
        for record in records:
            if record.compaction is not None:
                self.beside.run_all("insert_turn", turns)
                self.beside.run_all("insert_compaction", [record.compaction])
                turns = []
            turns.append(record.turn)
        self.beside.run_all("insert_turn", turns)

    def _fits(self, row: CompactionRow, above: Record | None) -> bool:
        """Whether a compaction is of the usual kind: everything up to a turn of this batch, and nothing is kept."""
        if above is None or row.summarized_through_turn_id != above.turn.id:
            return False
        if row.first_kept_turn_id is not None or row.first_kept_message_id is not None or row.kept_json is not None:
            return False
        done = self._summarized(above)
        if done is None:
            return False
        row.turns_summarized = above.turn.depth - done
        return True

    def _summarized(self, record: Record) -> int | None:
        """The depth up to which a thread is summarised already; None if that is not known without looking it up."""
        depth = record.turn.compaction_depth
        if not depth:
            return 0
        found: Record | None = record
        while found is not None and found.turn.depth > depth:
            found = self._turns.get(found.turn.parent_turn_id or "")
        if found is None or found.compaction is None:
            return None
        if found.compaction.summarized_through_turn_id is None:
            return 0
        through = self._turns.get(found.compaction.summarized_through_turn_id)
        return None if through is None else through.turn.depth

    def _fit(self, row: CompactionRow, parent_id: str | None) -> None:
        """Lets any other name only what is in its thread: that is looked up, so the turns so far go first."""
        self._drain_turns()
        captured.fit_compaction(self.beside, parent_id, row)
        row.turns_summarized = compact.summarized(self.beside, parent_id, row)

    def _under(self, above: Record | None, parent_id: str | None, turn_id: str, *, is_open: bool) -> Place:
        if above is None:
            place = place_under(self.beside, self.env, parent_id, turn_id, is_open=is_open, mark=self._parents.append)
            if (place.segment_id, place.depth) not in self._places:
                return place
            root, segment, depth = place.root_id, place.segment_id, place.depth - 1  # taken by a turn of this batch
        else:
            turn = above.turn
            turn.has_children = 1
            root, segment, depth = turn.root_id, turn.segment_id, turn.depth
            place = Place(
                turn.id,
                root,
                segment,
                depth + 1,
                turn.turn_hash,
                turn.thread_tokens,
                turn.system_depth,
                turn.compaction_depth,
                turn.messages_before + len(above.messages),
            )
            if (segment, depth + 1) not in self._places:
                return place
        segment = self.beside.value("new_segment", root_id=root, parent_segment_id=segment, fork_depth=depth)
        return msgspec.structs.replace(place, segment_id=segment)

    def _log(self, entries: list[LogRow]) -> None:
        self.beside.run_all("insert_log", entries)
        if entries:
            self._logged.append((entries[0].seq - 1, entries[-1].seq))

    def _seals(self, turns: list[TurnRow]) -> list[LogRow]:
        """The log entries of all seals."""
        seq, now = int(self.beside.value("last_seq")), self.env.now()
        entries: list[LogRow] = []
        for turn in turns:
            if turn.seal_seq is None:
                seq += 1
                turn.seal_seq = seq
                entries.append(_entry("seal", turn.id, seq, now, turn.turn_hash))
        return entries

    def _moved(self, moves: dict[str, list[MoveRow]]) -> list[LogRow]:
        """The log entries of all moves, which are numbered by them."""
        seq = int(self.beside.value("last_seq"))
        entries: list[LogRow] = []
        for rows in moves.values():
            for idx, row in enumerate(rows):
                seq += 1
                rows[idx] = msgspec.structs.replace(row, id=seq)
                entries.append(_entry("move", row.session_label, seq, row.changed_at, move_facts(row)))
        return entries


def _together(records: list[Record]) -> Record:
    """The parts of many turns, as if they were one."""
    return Record(
        records[0].turn,
        [row for record in records for row in record.messages],
        [row for record in records for row in record.calls],
        None,
        [row for record in records for row in record.files],
        [row for record in records for row in record.lints],
        [row for record in records for row in record.codeblocks],
        [row for record in records for row in record.originals],
        [row for record in records for row in record.usages],
    )


def _entry(kind: str, ref: str, seq: int, at: int, facts: object) -> LogRow:
    return LogRow(seq, kind, ref, at, None, leaf(LogRow(seq, kind, ref, at, None, b""), facts))
