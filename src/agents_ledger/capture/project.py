"""From events to the ledger: for one source, what is there already and what is new."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath

import msgspec

from agents_ledger.capture.assemble import Assembler
from agents_ledger.capture.details import Details, learn
from agents_ledger.capture.draft import WHOLE, Draft, LabelOf, Spot, id_of, label_for
from agents_ledger.capture.lanes import ROOT, Lane
from agents_ledger.capture.native_chain import Counts
from agents_ledger.capture.operations import Alias, Begin, End, LookBack, Point, Remember, Retract
from agents_ledger.capture.parts import is_loose_result
from agents_ledger.capture.pending_steps import WINDOW
from agents_ledger.capture.reopening import reopened
from agents_ledger.capture.settling import Settling
from agents_ledger.capture.summing_up import place_summary
from agents_ledger.capture.writer import Pending, Writer, step_key
from agents_ledger.ledger import captured, written
from agents_ledger.ledger.build import Prepared
from agents_ledger.ledger.captured import StepRow
from agents_ledger.ledger.evidence import places
from agents_ledger.ledger.sealing import OPEN
from agents_ledger.model import ids
from agents_ledger.model.captures import Capture
from agents_ledger.model.rows import Record, WrittenRow
from agents_ledger.model.steps import Base, Compacted, Event, Facts, Problem, Step, Stop
from agents_ledger.model.texts import read_json
from agents_ledger.store import Tx

_WHOLE_SOURCE = 1 << 40  # steps: a source that is read at once is searched for parents to its end
_BASES = 100  # forks of forks of forks …
ReadCapture = Callable[[Capture, int | None], Iterable[tuple[Event, str]]]

# A branch that begins inside a turn copies the turn up to there. Beyond so many copies of it, branches begin at its
# end: else a source of n lines could make a ledger of n² messages.
_MOST_COPIED = 32
_LEAST_COPIED = 5000  # messages, of a short turn


class Kin(msgspec.Struct):
    """What a source says about whose its sessions are."""

    origins: dict[str, str] = {}
    relatives: dict[str, str] = {}  # a fork → the session that it continues


class Projection:
    """One source on its way into the ledger: what the assembler puts turns into."""

    def __init__(self, writer: Writer, capture: Capture, origin: str, read: ReadCapture, *, is_again: bool) -> None:
        self.writer = writer
        self.capture = capture
        self.origin = origin
        late = frozenset(writer.late_steps.get(capture.id, ()))
        window = WINDOW if capture.shape == "lines" else _WHOLE_SOURCE
        self.assembler = Assembler(origin, self, late, window)
        self.take: Callable[[Event, str], None] = self.assembler.take  # an event, and where it stands
        self.problems: list[tuple[Problem, int]] = []
        self.file_time_ms = max(capture.modified_ns, 0) // 1_000_000  # for what has no time of its own
        self.written: WrittenRow | None = None  # what of it was written from here, as a fork
        self.may_lack_beginning = capture.shape == "lines"  # anything else is replaced as a whole
        self._read = read
        self._is_again = is_again  # its turns are in the ledger, open, and read once more
        self.read_with: set[int] = set()  # the other files of a bundle
        self._seen: set[str] = set()
        # by the session's own name: whose it is, and with it its label, may be said after something else
        self._details: dict[str, Details] = {}
        self.kin = Kin()
        self._ensured: set[str] = set()
        self._heads: dict[str, str | None] = {}  # where sessions pointed before
        self._aliases: dict[str, str] = {}
        self._settling = Settling(self, is_again=is_again)
        self._copied: dict[str, dict[int, None]] = {}  # turn → where branches inside it begin
        self.beside: set[int] = set()  # the sources of those turns, where it ends with one
        self._cut_from: dict[str, str] = {}  # turns that end inside another one → that one
        self.chain: Counts | None = Counts(0, 0)  # of all its sessions; None: not known

    def finish(self) -> None:
        """The source ends here, for now: the last turns, the heads, and what is known about sessions."""
        self.assembler.finish()
        for lane in self.assembler.lanes.values():
            known = self._details.get(lane.session)
            self._ensure(lane.session, (known and (known.started_at or known.last_at)) or lane.last_at)
            spot = lane.at
            head = id_of(spot) or None
            if spot is not ROOT and lane.count + len(self._seen):
                is_shown = lane.shown and spot.turn is lane.open
                head = id_of(spot) if is_shown or self._is_of_another(lane, spot) else self._whole(spot)
                self._end(lane.session, head, lane.last_at)
                if head in self._settling.variants:
                    self.beside.add(self._settling.variants[head])
            self._count_chain(lane.session, head)
        seen = frozenset(self._seen | self._settling.variants.keys())
        if self._is_again:
            self.writer.add(Retract(self.capture.id, self.owners(), seen))
        if self.capture.shape == "bundle":  # each of its files may come late, or be written anew
            labels = frozenset(map(self.label, self.assembler.lanes))
            self.writer.add(LookBack(labels, self.owners(), seen, self.writer.in_doubt))
        for session, details in self._details.items():
            details.session_label = self.label(session)
            self.writer.add(Remember(details.session_label, details))
        for alias, session in self._aliases.items():
            self.writer.add(Alias(alias, self.label(session), self.writer.env.now()))

    # what the assembler asks and tells

    def find(self, session: str, native_id: str) -> Spot | None:
        """Where a step is, if it is in the ledger."""
        for scope in self.scopes(session):
            found = self.writer.steps(step_key(self.origin_of(session), scope, native_id))
            usable = [row for row in found if self._may_follow(row[0])]
            if usable:
                return Spot(*self._nearest(session, usable))
        return None

    def scopes(self, session: str) -> list[str]:
        """The sessions in which a session's steps may be: itself, and the one that it continues."""
        return [session, self.kin.relatives[session]] if session in self.kin.relatives else [session]

    def begun_with(self, session: str, identity: str) -> str | None:
        """The turn that began with a step, if it is in the ledger."""
        found = self.writer.steps(step_key(self.origin_of(session), session, identity))
        return found[0][0] if found else None

    def above(self, turn_id: str) -> Spot:
        """What a turn of the ledger follows, as other sources tell."""
        parent_id = self.writer.parent(turn_id)
        return ROOT if parent_id is None or not self._may_follow(parent_id) else Spot(parent_id, WHOLE)

    def is_unread(self, session: str, turn_id: str) -> bool:
        """Whether a turn of a session is in the ledger and this source has not told it (yet)."""
        if turn_id in self._seen:
            return False
        return self.writer.record(turn_id).turn.session_label == self.label(session)

    def is_leading(self, spot: Spot) -> bool:
        """Whether nothing but context stands up to a spot in its turn."""
        rows = self.writer.record(id_of(spot)).messages[: spot.position]
        return all(row.source == "context" or row.role == "system" for row in rows)

    def cut(self, spot: Spot) -> Spot:
        """A spot inside a turn, as the end of a turn that stops there."""
        turn_id = id_of(spot)
        record = self.writer.record(turn_id)
        if spot.position <= 0:
            parent = record.turn.parent_turn_id or self.writer.parent(turn_id)
            return ROOT if parent is None else Spot(parent, WHOLE)
        copied = self._copied.setdefault(turn_id, {})
        if spot.position not in copied:
            if sum(copied) + spot.position > max(_MOST_COPIED * len(record.messages), _LEAST_COPIED):
                self.problem(Problem("too-many-branches", turn_id), record.turn.evidence or "")
                return Spot(turn_id, WHOLE)
            copied[spot.position] = None
        label = ""
        draft = reopened(record, label, {})
        draft.id = ids.derived(draft.started_at, turn_id, "until", spot.position)
        draft.messages = draft.messages[: spot.position]
        draft.calls = [call for call in draft.calls if call.message < spot.position]
        draft.spent = [spent for spent in draft.spent if (spent.message or 0) < spot.position]
        draft.status, draft.error = "completed", None
        parent_id = self.writer.parent(turn_id)
        is_final = record.turn.seal_seq != OPEN and turn_id not in self.writer.turns
        pending = self.writer.turns.get(turn_id)
        if pending is not None:
            is_final = pending.is_final
        given = self.writer.prepare(draft.turn(LabelOf(self.origin)))
        self._settling.note_variant(draft.id, turn_id)
        self._cut_from[draft.id] = turn_id
        for call in given.record.calls:
            call.spawned_session_label = None  # the subagent belongs to the whole turn
        self._put(given, parent_id, is_final=is_final, label=label)
        given.record.turn.session_label = record.turn.session_label
        return Spot(draft.id, WHOLE)

    def back(self, spot: Spot, turns: int) -> Spot:
        """So many questions earlier."""
        turn_id: str | None = None if spot is ROOT else id_of(spot)
        for _ in range(turns):
            if turn_id is None:
                break  # the numbers of sources can't be trusted
            while turn_id is not None and not _is_question(self.writer.record(turn_id)):
                turn_id = self.writer.parent(turn_id)
            turn_id = None if turn_id is None else self.writer.parent(turn_id)
        return ROOT if turn_id is None else Spot(turn_id, WHOLE)

    def ends_at(self, turn_id: str, position: int) -> bool:
        """Whether no message of a turn stands behind a position, but for results whose calls were not read."""
        if position >= self.writer.length(turn_id):
            return True
        rows = self.writer.record(turn_id).messages[position:]
        return all(is_loose_result(row.role, read_json(row.metadata_json or "null")) for row in rows)

    def record(self, turn_id: str) -> Record | None:
        """A turn of the ledger that is not sealed; None if it is."""
        found = self.writer.record(turn_id)
        return found if found.turn.seal_seq == OPEN else None

    def store(self, draft: Draft, *, is_final: bool) -> None:
        """A turn as far as it was read."""
        label = self._ensure(draft.session, draft.started_at)
        self._settling.complete(draft)
        parent_id = None if draft.parent is None else id_of(draft.parent)
        if draft.compaction is not None and not (draft.was_open and draft.compaction_given is not None):
            place_summary(draft, draft.compaction, parent_id, self.writer, self._kept(draft, draft.compaction))
        given = self._settling.settled(draft, label, is_final=is_final)
        self._seen.add(draft.id)
        if given is not None:
            self._put(given, parent_id, is_final=is_final, label=label)
            self._point(draft.session, draft.id, draft.started_at, "advance")
        rows = self._steps(draft)
        if rows:
            self.writer.stand(rows)
        draft.steps = []
        draft.is_stored = True

    def stand(self, session: str, native_id: str, spot: Spot) -> None:
        """A step stands behind a turn that is in the ledger."""
        key = step_key(self.origin_of(session), session, native_id)
        self.writer.stand([StepRow(key, id_of(spot), spot.position)])

    def moved(self, session: str, spot: Spot, at: int) -> None:
        """A session's pointer went back."""
        self._ensure(session, at)
        if spot is not ROOT:
            self._point(session, self._whole(spot), at, "rewind")

    def facts(self, facts: Facts) -> None:
        """What is known about a session."""
        if facts.origin is not None:
            self.kin.origins[facts.session] = facts.origin
        learn(self._details.setdefault(facts.session, Details("")), facts)
        if facts.forked_from is not None:
            self.kin.relatives[facts.session] = facts.forked_from
        elif facts.forked_path is not None:
            self.kin.relatives[facts.session] = (
                PurePath(facts.forked_path).name.partition(".jsonl")[0].rpartition("_")[2]
            )
        if facts.session in self.kin.relatives:
            self._await_relative(facts.session)
        for alias in facts.aliases:
            self._aliases[alias] = facts.session

    def came_late(self, native_id: str) -> None:
        """A step was read long after its children: the source is read again, now that this is known."""
        if self.capture.shape == "lines":
            self.writer.late_steps.setdefault(self.capture.id, set()).add(native_id)
            self.writer.to_read_again.add(self.capture.id)

    def base(self, base: Base, above: frozenset[str] = frozenset()) -> Iterable[tuple[Event, str]] | None:
        """The events that a session begins with, by reference; `above` is what refers to it in turn."""
        if base.of == base.session or base.of in above or len(above) >= _BASES:
            return None  # a circle, or no end
        self.writer.flush()
        found = [each for each in self.writer.captures_of(self.label(base.of)) if each.shape == "lines"]
        return None if not found else self._inherited(found[-1], base, above | {base.of})

    def problem(self, problem: Problem, place: str) -> None:
        """Something wrong with the source."""
        offset = places(place)[0][1] if place else -1
        self.problems.append((problem, offset))

    # how

    def _count_chain(self, session: str, head: str | None) -> None:
        """Count the entries of a session's active chain, and those in turns on the path to its head."""
        chain = self.assembler.chain
        path, left, known = {""}, chain.turns(session), chain.known(session)
        if known is not None and known.native_id:  # its turn may have been stored under another id since
            key = step_key(self.origin_of(session), session, known.native_id)
            now = {row[0] for row in self.writer.steps(key)}
            left |= now
        turn, seen = head, set[str]()
        while turn is not None and left - path and turn not in seen:
            seen.add(turn)
            covered: str | None = turn
            while covered is not None and covered not in path:
                path.add(covered)
                covered = self._cut_from.get(covered)
            turn = self.writer.parent(turn)
        if known is not None and known.native_id and now & path:
            path.add(known.turn_id)
        counts = chain.count(session, path)
        if counts is not None and counts.under_head < counts.entries and self._is_contradicted(session, path):
            self.problem(Problem("split-chain", f"{counts.under_head} of {counts.entries} entries"), "")
        if self.chain is not None:
            self.chain = None if counts is None else self.chain + counts

    def _is_contradicted(self, session: str, path: set[str]) -> bool:
        """Whether no tree can have all entries: ids name several, here or in another source, or some are damaged."""
        chain = self.assembler.chain
        if chain.has_contradictions or self.assembler.lanes[session].is_damaged:
            return True
        if any(capture.id not in self.owners() for capture in self.writer.captures_of(self.label(session))):
            return True
        turns = (chain.turns(session) | path) - {""}
        sources = {place[0] for turn in turns for place in places(self.writer.record(turn).turn.evidence)[:1]}
        return not sources <= self.owners()

    def _await_relative(self, session: str) -> None:
        """A fork is final only when what it continues is here: its copies may have lost something."""
        other = self.kin.relatives[session]
        name = f"session {other}"
        lane = self.assembler.lanes[session]
        if name not in lane.awaits and other != session:
            self.writer.flush()
            label = label_for(self.origin_of(session), other)
            if not self.writer.captures_of(label) and not self._was_written(label):
                lane.awaits[name] = None

    def _was_written(self, label: str) -> bool:
        with self.writer.database.read() as tx:
            return written.begun(tx, label) is not None

    def _inherited(self, capture: Capture, base: Base, above: frozenset[str]) -> Iterator[tuple[Event, str]]:
        for event, place in self._read(capture, base.until):
            if isinstance(event, Stop):
                yield event, place
                return
            if isinstance(event, Base):
                further = self.base(msgspec.structs.replace(event, session=base.session), above)
                yield from (pair for pair in further or () if not isinstance(pair[0], Stop))
            elif isinstance(event, Step):
                yield msgspec.structs.replace(event, session=base.session), place

    def _put(self, given: Prepared, parent_id: str | None, *, is_final: bool, label: str) -> None:
        turn_id = given.record.turn.id
        stays = self.writer.parent(turn_id) if self._is_circle(turn_id, parent_id) else parent_id
        self.writer.turns[turn_id] = Pending(given, stays, is_final, label)
        given.record.turn.session_label = label
        self.writer.add(lambda batch: batch.put(given, parent_id, is_final=is_final), _weight(given.record))

    def _is_circle(self, turn_id: str, parent_id: str | None) -> bool:
        """Whether a turn that is there already would come to stand behind itself: it stays where it is then."""
        if turn_id not in self.writer.turns and self.writer.state(turn_id) is None:
            return False
        above = parent_id if parent_id != self.writer.parent(turn_id) else None
        while above is not None and above != turn_id and self.writer.is_open(above):
            above = self.writer.parent(above)
        return above == turn_id

    def _kept(self, draft: Draft, step: Compacted) -> Spot | None:
        """Where that begins which a compaction keeps, if anything is kept."""
        kept = step.first_kept or (step.kept[0] if step.kept else None)
        if kept is None or kept == step.native_id:
            return None
        return self.assembler.spot_of(draft.session, kept) or self.find(draft.session, kept)

    def _steps(self, draft: Draft) -> list[StepRow]:
        origin, session = self.origin_of(draft.session), draft.session
        keys = dict(draft.steps)
        if draft.identity:
            keys.setdefault(draft.identity, 1)  # so that copies are known by it
        return [StepRow(step_key(origin, session, native), draft.id, position) for native, position in keys.items()]

    def _whole(self, spot: Spot) -> str:
        turn = spot.turn
        is_end = turn.ends_at(spot.position) if isinstance(turn, Draft) else self.ends_at(turn, spot.position)
        if not is_end:
            return id_of(self.cut(spot)) if spot.position > 0 else id_of(spot)
        return id_of(spot)

    def _is_of_another(self, lane: Lane, spot: Spot) -> bool:
        """Whether a turn belongs to another session of this source: one conversation under two ids is not cut."""
        if len(self.assembler.lanes) == 1:
            return False
        owner = spot.turn.session if isinstance(spot.turn, Draft) else None
        if owner is None:
            label = self.writer.record(id_of(spot)).turn.session_label
            owner = next((name for name in self.assembler.lanes if self.label(name) == label), lane.session)
        return owner != lane.session

    def _point(self, session: str, turn_id: str, at: int, reason: str) -> None:
        self.writer.add(Point(self.label(session), turn_id, at, reason))

    def _end(self, session: str, turn_id: str, at: int) -> None:
        self.writer.add(End(self.label(session), turn_id, at, self.owners(), self.capture.id, self._heads))

    def owners(self) -> frozenset[int]:
        """The captures that are read together with this one."""
        return frozenset({self.capture.id, *self.read_with})

    def _ensure(self, session: str, at: int | None) -> str:
        label = self.label(session)
        began, known = self.writer.began, self._details.get(session)
        times = [time for time in (at, known and known.started_at, began.get(label)) if time]
        if times:
            began[label] = min(times)
        if label not in self._ensured:
            self._ensured.add(label)
            env, origin = self.writer.env, self.origin_of(session)
            capture_id = self.capture.id

            def make(tx: Tx) -> None:
                first = began.get(label) or self.file_time_ms
                captured.ensure_session(tx, env, label, origin, session, first)
                tx.run("put_session_capture", session_label=label, capture_id=capture_id)

            self.writer.add(lambda batch: batch.tell(label, make))
            self.writer.add(Begin(label, self._heads))
        return label

    def origin_of(self, session: str) -> str:
        """The system that a session comes from."""
        return self.kin.origins.get(session, self.origin)

    def label(self, session: str) -> str:
        """The label of one of its sessions."""
        return label_for(self.origin_of(session), session)

    def _may_follow(self, turn_id: str) -> bool:
        """Read once more, a source must not find its own later turns: it would go in circles."""
        if not self._is_again or turn_id in self._seen:
            return True
        state = self.writer.state(turn_id)
        where = places(state[4]) if state is not None else []
        return not (where and where[0][0] in self.owners() and state is not None and state[0] == OPEN)

    def _nearest(self, session: str, found: list[tuple[str, int]]) -> tuple[str, int]:
        """Of several turns with the same step, the one of this session."""
        if len(found) == 1:
            return found[0]
        for row in found:
            if row[0] in self._seen:
                return row
        label = self.label(session)
        self.writer.flush()
        for row in found:
            state = self.writer.state(row[0])
            where = places(state[4]) if state is not None else []
            found_in = where[0][0] if where else 0
            if label in {each[0] for each in self.writer.seen().rows("sessions_of_capture", capture_id=found_in)}:
                return row
        return found[0]


def _is_question(record: Record) -> bool:
    """Whether a turn begins with something that a human (or a trigger) asked."""
    return any(row.role == "user" and row.source != "context" for row in record.messages)


def _weight(record: Record) -> int:
    """About how many bytes a turn brings."""
    said = sum(len(row.content or "") + len(row.thinking or "") + 300 for row in record.messages)
    return said + sum(len(call.params_json) + len(call.result_json or "") + 300 for call in record.calls)
