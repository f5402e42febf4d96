"""What stands of a family of sources that was read anew: its turns, its heads, where reading goes on.

What this ledger says already stays as it is. What is missing is written; what no source tells any more is superseded:
it stays as it was sealed, marked. A turn has the id that it has where it was read anew, unless a sealed one has that
already and says something else.
"""

import msgspec

from agents_ledger.capture.draft import LabelOf
from agents_ledger.capture.families import Family
from agents_ledger.capture.operations import Point, PutChain, Reinstate, RetractOne, SetReading, Supersede
from agents_ledger.capture.reading import Resume
from agents_ledger.capture.reopening import reopened
from agents_ledger.capture.writer import Pending, Writer
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.captured import StepRow
from agents_ledger.ledger.digest import content_of
from agents_ledger.ledger.evidence import places
from agents_ledger.ledger.records import complete_all, read_record
from agents_ledger.ledger.sealing import OPEN
from agents_ledger.model import ids
from agents_ledger.model.entries import Compaction, Turn
from agents_ledger.model.rows import MoveRow, Record, TurnRow
from agents_ledger.model.rules import RETRACTED
from agents_ledger.store import Tx

_PAGE = 200
MOVED_HERE = ("rewind", "replay", "fork", "merge")  # by whom the pointer belongs to


class Standing:
    """A family as it was read anew, on its way into the ledger."""

    def __init__(self, writer: Writer, anew: Ledger, family: Family) -> None:
        self._writer = writer
        self._anew = anew
        self._family = family
        self._at: dict[str, str] = {}  # turns where they were read anew → turns here
        self._taken: set[str] = set()  # turns here that stand
        self._begun: dict[str, str] = {}  # the same, by what they began with
        self._messages: dict[str, str] = {}  # messages of written turns → messages here
        seen = writer.seen()
        rows = [TurnRow(*row) for root in sorted(family.roots) for row in seen.rows("turns_of_root", root_id=root)]
        self._here = {row.id: row for row in rows}
        self._marked = {row[0] for row in seen.rows("superseded_turns")} & self._here.keys()
        self._below: dict[str | None, list[str]] = {}
        for row in rows:
            self._below.setdefault(row.parent_turn_id, []).append(row.id)

    def write(self) -> None:
        """Everything that differs, into the next batch."""
        with self._anew.database.read() as tx:
            told = _told(tx)
            own = {record.turn.id for record in told}
            for record in told:
                self._place(record, own)
            self._let_go()
            self._point(tx)
            steps = [StepRow(key, self._at[turn], at) for key, turn, at in tx.rows("all_steps") if turn in self._at]
            self._writer.stand(steps)
            for capture_id, resume, awaits in tx.rows("capture_states"):
                self._writer.add(SetReading(capture_id, self._resume(resume), awaits))
            for capture_id, _path, entries, under_head in tx.rows("chains"):
                self._writer.add(PutChain(capture_id, entries, under_head))

    # turns

    def _place(self, record: Record, own: set[str]) -> None:
        turn = record.turn
        parent_id = None if turn.parent_turn_id is None else self._at[turn.parent_turn_id]
        found = self._same(record, parent_id, own)
        if found is None:
            found = self._free_id(turn, parent_id)
            self._put(record, found, parent_id)
        elif found in self._marked:
            self._writer.add(Reinstate(found, self._writer.env.now()))
        self._at[turn.id] = found
        self._taken.add(found)
        if turn.native_id is not None:
            self._begun[turn.native_id] = found

    def _same(self, record: Record, parent_id: str | None, own: set[str]) -> str | None:
        """The turn here that says the same at the same place; the one with the same id, if there are several."""
        turn_id, content = record.turn.id, content_of(record)
        beside = [each for each in self._below.get(parent_id, ()) if each not in self._taken]
        for each in sorted(beside, key=lambda each: (each != turn_id, each in self._marked, each in own, each)):
            is_told = self._here[each].evidence is not None
            if is_told and content_of(read_record(self._writer.seen(), each)) == content:
                return each
        return None

    def _free_id(self, turn: TurnRow, parent_id: str | None) -> str:
        row = self._here.get(turn.id)
        if row is None and self._writer.state(turn.id) is None:
            return turn.id
        is_open = row is not None and row.seal_seq == OPEN and row.id not in self._taken | self._marked
        if is_open and not self._is_above(turn.id, parent_id):
            return turn.id
        count = 0
        while True:
            found = ids.derived(turn.started_at, turn.id, "anew", count)
            if self._writer.state(found) is None and found not in self._taken:
                return found
            count += 1

    def _is_above(self, turn_id: str, other: str | None) -> bool:
        while other is not None and other != turn_id:
            other = self._here[other].parent_turn_id if other in self._here else self._writer.parent(other)
        return other is not None

    def _put(self, record: Record, turn_id: str, parent_id: str | None) -> None:
        given = self._writer.prepare(self._again(record, turn_id))
        label, is_final = record.turn.session_label, record.turn.seal_seq != OPEN
        given.record.turn.session_label = label
        for row, new in zip(record.messages, given.record.messages, strict=True):
            self._messages[row.id] = new.id
        self._writer.turns[turn_id] = Pending(given, parent_id, is_final, label or "")
        self._writer.add(lambda batch: batch.put(given, parent_id, is_final=is_final))

    def _again(self, record: Record, turn_id: str) -> Turn:
        """A turn as it was read anew, under the id that it has here."""
        origin = LabelOf((record.turn.session_label or "").partition(":")[0])
        draft = reopened(record, "", {})
        draft.id = turn_id
        if draft.compaction_given is not None:
            draft.compaction_given = self._summary(draft.compaction_given)
        turn = draft.turn(origin)
        return msgspec.structs.replace(turn, status=record.turn.status, error=record.turn.error)  # (of a cut one, too)

    def _summary(self, given: Compaction) -> Compaction:
        message = given.first_kept_message_id
        return msgspec.structs.replace(
            given,
            through=None if given.through is None else self._at[given.through],
            first_kept=None if given.first_kept is None else self._at[given.first_kept],
            first_kept_message_id=None if message is None else self._message(given.first_kept, message),
        )

    def _message(self, turn_id: str | None, message: str) -> str | None:
        if message in self._messages or turn_id is None:
            return self._messages.get(message)
        with self._anew.database.read() as tx:
            rows = read_record(tx, turn_id).messages
        index = next((row.sequence for row in rows if row.id == message), -1)
        return self._writer.message_at(self._at[turn_id], index)

    def _let_go(self) -> None:
        """What was read from these sources and is not told any more, the last first."""
        for row in sorted(self._here.values(), key=lambda row: (-row.depth, row.id)):
            if row.id in self._taken | self._marked or not self._is_ours(row):
                continue
            if row.seal_seq == OPEN and not row.has_children:
                self._writer.add(RetractOne(row.id))
            else:
                by = self._at.get(row.id) or self._begun.get(row.native_id or "")
                self._writer.add(Supersede(row.id, by, self._writer.env.now()))

    def _is_ours(self, row: TurnRow) -> bool:
        where = {place[0] for place in places(row.evidence)}
        return bool(where) and where <= self._family.captures.keys()

    # pointers

    def _point(self, tx: Tx) -> None:
        for row in tx.rows("all_sessions"):
            last = tx.first("last_move", label=row[0])
            wanted = None if last is None else self._at.get(last[2])
            if last is not None and wanted is not None and self._may_move(row[0], MoveRow(*last)):
                self._writer.add(Point(row[0], wanted, last[3], "import"))

    def _may_move(self, label: str, last: MoveRow) -> bool:
        """Whether a session is where its sources have led it, and not where somebody has."""
        found = self._writer.seen().first("last_move", label=label)
        if found is None:
            return True
        move = MoveRow(*found)
        head = self._here.get(move.thread_id)
        if head is None or not (self._is_ours(head) or head.error == RETRACTED):
            return False
        stands = head.id in self._taken
        return not stands or move.reason == last.reason or move.reason not in MOVED_HERE

    def _resume(self, kept: bytes | None) -> bytes | None:
        """Where reading goes on, by the turns that are here."""
        if kept is None:
            return None
        state = msgspec.msgpack.decode(kept, type=Resume)
        for lane in state.lanes:
            lane.open_id = None if lane.open_id is None else self._at.get(lane.open_id, lane.open_id)
            lane.at_turn = self._at.get(lane.at_turn, lane.at_turn)
            lane.kept = {native: self._at.get(turn, turn) for native, turn in lane.kept.items()}
            for known in lane.chain:
                known.turn_id = self._at.get(known.turn_id, known.turn_id)
        return msgspec.msgpack.encode(state)


def _told(tx: Tx) -> list[Record]:
    """All turns of a ledger that stand, parents before children."""
    found: list[Record] = []
    after = (-1, "")
    while rows := [TurnRow(*row) for row in tx.rows("turns_by_depth", depth=after[0], id=after[1], limit=_PAGE)]:
        found += [record for record in complete_all(tx, rows) if record.turn.error != RETRACTED]
        after = (rows[-1].depth, rows[-1].id)
    return found
