"""What becomes of a turn that was read: under which id it is written, or that it is there, told by other sources."""

from typing import TYPE_CHECKING

import msgspec

from agents_ledger.capture.comparing import is_beginning, is_told_otherwise
from agents_ledger.capture.draft import Draft, LabelOf, id_of
from agents_ledger.capture.operations import RetractOne
from agents_ledger.capture.reopening import reopened
from agents_ledger.capture.writer import Pending, step_key
from agents_ledger.ledger.build import Prepared
from agents_ledger.ledger.evidence import places
from agents_ledger.ledger.records import said_digest
from agents_ledger.ledger.sealing import OPEN
from agents_ledger.model import ids
from agents_ledger.model.rows import Record
from agents_ledger.model.steps import Problem

if TYPE_CHECKING:
    from agents_ledger.capture.project import Projection

_COUNTED = 40  # ways to go on from one step that are told apart by their number; more are by what they say
_VARIANTS = 50
_MOST_WAYS = 1000  # turns that begin with the same step: each new one is compared with all of them


class Settling:
    """Finds a place for the turns of a source."""

    def __init__(self, source: "Projection", *, is_again: bool) -> None:
        self._source = source
        self._writer = source.writer
        self._capture = source.capture
        self._is_again = is_again  # its turns are in the ledger, open, and read once more
        self.variants: dict[str, int] = {}  # turns that begin as one of another source does and go on otherwise

    def settled(self, draft: Draft, label: str, *, is_final: bool) -> Prepared | None:  # noqa: C901 - one story
        """The turn to write, under an id that is its own; None if it is in the ledger as it is."""
        first = draft.id
        given = self._given(draft)
        if draft.was_open and self._is_among_others(draft, given, first):
            self._writer.add(RetractOne(first))
            return None
        for count in range(_VARIANTS):
            fate = False if not is_final and self._is_behind(draft, given) else self._fate(draft, given, label)
            if fate is not None:
                if count:
                    self.variants[draft.id] = self._source_of(first)
                    if fate and self._writer.state(draft.id) is None:
                        self._doubt(first)
                        if not self._was_ours(first, label) and self._is_copy(draft, given, first):
                            self._source.problem(Problem("changed-step", (draft.native_id or "")[:80]), "")
                if not fate:
                    return None
                # rows are made for this id only, not for each that is taken: they cost as much as to write the turn
                return self._given(draft) if count else given
            if not count:
                if self._is_among_others(draft, given, first):
                    return None
                # the same beginning, but it went on otherwise: a fork inside the turn, or it was sealed too soon
                if self._was_ours(first, label):
                    self._source.problem(Problem("changed-step", (draft.native_id or "")[:80]), "")
                if len(self._others(draft)) > _MOST_WAYS:
                    break
            said = "" if count < _COUNTED else said_digest(given.record).hex()
            draft.id = ids.derived(draft.started_at, first, label, f"{count}{said}")
        draft.id = first
        self._source.problem(
            Problem("changed-step", f"{draft.native_id}: one way to go on too many"), draft.evidence or ""
        )
        return None

    def note_variant(self, turn_id: str, of: str) -> None:
        """A turn that begins as another one and goes on otherwise; if that is news, both sources are in doubt."""
        self.variants[turn_id] = self._source_of(of)
        if self._writer.state(turn_id) is None and self.variants[turn_id] not in self._source.owners():
            self._doubt(of)

    def complete(self, draft: Draft) -> None:
        """What another copy of an open turn knew about its settings is not forgotten."""
        if draft.was_open:
            return
        pending = self._writer.turns.get(draft.id)
        state = self._writer.state(draft.id) if pending is None else (None if pending.is_final else OPEN,)
        if state is not None and state[0] == OPEN:
            known = reopened(self._writer.record(draft.id), draft.session, {}).settings
            fields = {name: getattr(known, name) for name in known.__struct_fields__}
            told = {name: getattr(draft.settings, name) for name in known.__struct_fields__}
            merged = {name: fields[name] if value is None else value for name, value in told.items()}
            draft.settings = msgspec.structs.replace(draft.settings, **merged)

    def _is_copy(self, draft: Draft, given: Prepared, turn_id: str) -> bool:
        """Whether a turn has no step that another one has not: a copy with other content, not a fork inside it."""
        kept = self._writer.record(turn_id)
        if is_beginning(given.record, kept) or is_beginning(kept, given.record):
            return False
        origin = self._source.origin_of(draft.session)
        rows = [self._writer.steps(step_key(origin, draft.session, native)) for native, _ in draft.steps]
        return bool(rows) and all(any(row[0] == turn_id for row in found) for found in rows)

    def _given(self, draft: Draft) -> Prepared:
        return self._writer.prepare(draft.turn(LabelOf(self._source.origin_of(draft.session))))

    def _is_among_others(self, draft: Draft, given: Prepared, own: str) -> bool:
        """Whether another turn that has the same first step says the same: then it is this one."""
        said = said_digest(given.record)
        for turn_id in self._others(draft)[:_VARIANTS]:
            if turn_id != own and said_digest(self._writer.record(turn_id)) == said:
                draft.id = turn_id
                return True
        return False

    def _others(self, draft: Draft) -> list[str]:
        origin = self._source.origin_of(draft.session)
        names = dict.fromkeys(name for name in (draft.identity, draft.native_id) if name)
        keys = [step_key(origin, scope, name) for name in names for scope in self._source.scopes(draft.session)]
        return list(dict.fromkeys(turn_id for key in keys for turn_id, _ in self._writer.steps(key)))

    def _fate(self, draft: Draft, given: Prepared, label: str) -> bool | None:
        """Whether a turn is to be written; None if its id is taken by other content."""
        pending = self._writer.turns.get(draft.id)
        state = self._writer.state(draft.id)
        if pending is not None:
            return self._fate_beside(pending, draft, given, label)
        if state is None:
            return True
        kept = self._writer.record(draft.id)
        if state[0] == OPEN and self._is_ours(state[4], label):
            return not self._tells_more(kept, draft)
        if said_digest(kept) == said_digest(given.record):
            is_elsewhere = kept.turn.parent_turn_id != _parent_id(draft)
            is_otherwise = is_told_otherwise(given.record, kept)
            if is_otherwise or is_elsewhere:
                self._doubt(draft.id)
            return state[0] == OPEN and self._is_again and (is_otherwise or is_elsewhere)
        if state[0] == OPEN and len(draft.messages) > len(kept.messages):
            # a copy that stops inside the turn came first: it is read again, now that more is known
            self._writer.to_read_again.update(place[0] for place in places(state[4])[:1])
            return True
        return None

    def _fate_beside(self, pending: Pending, draft: Draft, given: Prepared, label: str) -> bool | None:
        """The same, where the turn with this id is about to be written."""
        if not pending.is_final and pending.label == label:
            return not self._tells_more(pending.given.record, draft)
        return False if said_digest(pending.given.record) == said_digest(given.record) else None

    def _doubt(self, turn_id: str) -> None:
        """This source and the one that a turn was read from were perhaps not read in the best order."""
        self._writer.in_doubt.add((self._capture.id, self._source_of(turn_id)))

    def _source_of(self, turn_id: str) -> int:
        """The source that a turn was read from; this one, if that is not known."""
        where = places(self._writer.record(turn_id).turn.evidence)
        return where[0][0] if where else self._capture.id

    def _is_behind(self, draft: Draft, given: Prepared) -> bool:
        """Whether a source ends inside a turn that a copy of it has told further: it was read before it had grown.

        A fork that says what it is a fork of was cut there on purpose.
        """
        if draft.was_open or draft.session in self._source.kin.relatives or self._capture.shape != "lines":
            return False
        if draft.id not in self._writer.turns and self._writer.state(draft.id) is None:
            return False
        kept = self._writer.record(draft.id)
        by_others = any(place[0] != self._capture.id for place in places(kept.turn.evidence)[:1])
        return by_others and is_beginning(given.record, kept)

    def _tells_more(self, kept: Record, draft: Draft) -> bool:
        """Whether another source of the same session has more of an open turn (an older copy is read after it)."""
        where = places(kept.turn.evidence)
        is_own = bool(where) and where[0][0] in self._source.owners()
        return not is_own and len(kept.messages) > len(draft.messages)

    def _was_ours(self, turn_id: str, label: str) -> bool:
        state = self._writer.state(turn_id)
        return state is not None and self._is_ours(state[4], label)

    def _is_ours(self, evidence: str | None, label: str) -> bool:
        where = places(evidence)
        if not where:
            return False
        if where[0][0] == self._capture.id:
            return True
        return label in {row[0] for row in self._writer.seen().rows("sessions_of_capture", capture_id=where[0][0])}


def _parent_id(draft: Draft) -> str | None:
    return None if draft.parent is None else id_of(draft.parent)
