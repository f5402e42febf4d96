"""Turns out of steps: what belongs together, what follows what, what is a branch. In the order of the source.

A turn is closed when another one of its session begins; closed turns never change. So a source that was read in two
pieces gives the same turns as one that was read at once. The last turn of each session stays open.
"""

from typing import Any

import msgspec

from agents_ledger.capture.draft import WHOLE, Draft, Spot, id_of, noted
from agents_ledger.capture.lanes import ROOT, Lane, LaneState, Ledgerish
from agents_ledger.capture.native_chain import KnownEntry, NativeChain
from agents_ledger.capture.parts import is_loose_result
from agents_ledger.capture.pending_steps import LARGEST, WINDOW, Item, PendingSteps, Queue, StepKey
from agents_ledger.capture.reopening import reopened
from agents_ledger.capture.writer import SHORT_ID
from agents_ledger.model import ids
from agents_ledger.model.steps import (
    AFTER_LAST,
    Answered,
    Base,
    Closed,
    Compacted,
    Event,
    Facts,
    Gap,
    Moved,
    Noted,
    Problem,
    Said,
    Spent,
    Step,
    Stop,
)

_ALL = 1 << 62  # steps: more than any source has
_NO_CHAIN = NativeChain()  # of a source that has been read
_KEPT = 2000  # ids of kept steps that are remembered after a compaction


class Assembler:
    """Takes the events of one source and puts turns into the ledger."""

    def __init__(
        self, origin: str, ledger: Ledgerish, late: frozenset[str] = frozenset(), window: int = WINDOW
    ) -> None:
        self.origin = origin
        self.late = late  # ids of steps that stand in the source long after their children
        self.pending = PendingSteps(window)
        self.chain = NativeChain()
        self._is_resumed = False  # the beginning of the source was read an earlier time
        self._number = 0  # of the step, in the order of the source
        self.lanes: dict[str, Lane] = {}
        self._ledger = ledger
        self._where: dict[StepKey, Spot] = {}
        self._open: dict[str, Lane] = {}  # the sessions of turns that may go on
        self._inherited: dict[str, str | None] = {}
        self._assumed: set[str] = set()  # ids of steps that were not read and whose place was inferred

    def take(self, event: Event, place: str) -> None:
        """One event, and where in the evidence it stands."""
        if isinstance(event, Step):
            lane = self._lane(event.session)
            at = lane.last_at if event.at is None else event.at
            lane.last_at = at
            self._number += 1
            item = (event, at, place, self._add_to_chain(event))
            is_behind = self.pending.count and event.parent == AFTER_LAST
            if is_behind and self.pending.hold_behind(item, self._name_of(event)):
                return
            if event.parent and self._is_early(lane, event, event.parent):
                self._hold(item, event.parent)
                return
            self.pending.close(event.session)
            self._read(lane, [item], self._number)
            if self.pending.count and event.native_id is not None:
                children = self.pending.children_of(self._name(event.session, event.native_id))
                self._read_queue(Queue(children), _ALL, self._number)
        elif isinstance(event, Problem):
            self._ledger.problem(event, place)
        elif isinstance(event, Facts):
            self._facts(event)
        elif isinstance(event, Base):
            self._base(event, place)

    def _add_to_chain(self, step: Step) -> int:
        """Add a step to the native chain; gives its number there."""
        session, native_id = step.session, step.native_id
        parent = step.to if isinstance(step, Moved) and step.to else step.parent
        key = None if native_id is None else self._key(session, native_id)
        return self.chain.add(step, key, self._key(session, parent) if parent else None)

    def _key(self, session: str, native_id: str) -> int:
        """Hash a step's id, together with its session where ids are not unique."""
        return hash(native_id) if len(native_id) >= SHORT_ID else hash((session, native_id))

    def _read(self, lane: Lane, items: list[Item], number: int) -> Spot:
        """Read steps and give the place behind them.

        The session then points behind whichever of its steps comes last in the source.
        """
        before, before_number = lane.at, lane.at_number
        for step, at, place, entry in items:
            self._step(lane, step, at, place)
            self.chain.place(entry, lane.at.turn)
        end = lane.at
        if number < before_number:
            lane.at = before
        else:
            lane.at_number = number
        return end

    def _step(self, lane: Lane, step: Step, at: int, place: str) -> None:
        if isinstance(step, Said):
            self._said(lane, step, at, place)
        elif isinstance(step, Answered):
            self._answered(lane, step, at, place)
        elif isinstance(step, Noted):
            self._noted(lane, step)
        elif isinstance(step, Compacted):
            self._compacted(lane, step, at, place)
        elif isinstance(step, Gap):
            self._gap(lane, step)
        else:
            self._other(lane, step, at)

    # steps that were read before their parents

    def _is_early(self, lane: Lane, step: Step, parent: str) -> bool:
        """Whether a step has to wait for its parent: it may stand further down in the source."""
        name = self._name(step.session, parent)
        if name in self._where or parent == step.native_id:
            return False
        if self.pending.count and name in self.pending:
            return True
        if self._has_place(lane, step, parent):
            return False
        if parent in self.late:
            return self.pending.size_bytes < LARGEST
        return not lane.is_damaged  # else the parent is most likely the record that could not be read

    def _has_place(self, lane: Lane, step: Step, parent: str) -> bool:
        """Whether it is known where a step belongs, although its parent was not read lately.

        A parent that only another capture has told so far may stand further down in this source.
        """
        if parent in lane.awaits:
            return True
        found = self._look(lane, parent)
        if found is not None and (self._is_resumed or not self._ledger.is_unread(lane.session, id_of(found))):
            return True
        draft = lane.open
        return draft is not None and isinstance(step, Answered) and draft.call_message(step.call) is not None

    def _hold(self, item: Item, parent: str) -> None:
        step = item[0]
        before = self.pending.last_of(step.session) or self.lanes[step.session].at
        name = self._name(step.session, parent)
        self.pending.hold(item, self._name_of(step), name, self._number, before)
        if self.pending.is_full:
            self._give_up(self._number - self.pending.window // 2, self.late)

    def _read_queue(self, queue: Queue, through: int, number: int = 0) -> None:
        """Read steps whose parents are known, and what waited for them, in the order of the source."""
        while (pending := queue.pop(through)) is not None:
            number = max(number, pending.number)
            pending.before = ROOT
            self.pending.done(pending)
            pending.end = self._read(self._lane(pending.session), pending.items, number)
            for name in pending.names:
                queue.add(self.pending.children_of(name))

    def _give_up(self, through: int, late: frozenset[str] = frozenset()) -> None:
        """Read the steps up to a number, those without their parents as well, but for those whose parent is late."""
        queue = self.pending.take_ready()
        for orphan in self.pending.orphans(through, late):
            self._read_queue(queue, orphan.number)
            siblings = self.pending.children_of(orphan.parent)
            if not siblings:
                continue
            lane, parent = self.lanes[orphan.session], orphan.parent
            if parent in self.pending:
                self._ledger.problem(Problem("circular-parent", parent[1][:80]), orphan.items[0][2])
                self._where[parent] = ROOT
            elif self._look(lane, parent[1]) is None:
                self._assume(lane, orphan.items[0][0], orphan.before_spot or lane.at)
            queue.add(siblings)
        self._read_queue(queue, through)
        self.pending.put_ready(queue)

    def _assume(self, lane: Lane, step: Step, before: Spot) -> Spot | None:
        """Infer the place of a step's parent, which is in no source; None: the step opens a new root."""
        follows_last = lane.is_damaged or (isinstance(step, Noted) and step.or_last)
        if not follows_last or before is ROOT or not step.parent:
            return None
        # results of parallel calls point into the turn: it goes on behind them
        spot = Spot(before.turn, WHOLE) if before.turn is lane.open else before
        self._where[self._name(step.session, step.parent)] = spot
        self._assumed.add(step.parent)
        return spot

    def _name(self, session: str, native_id: str) -> StepKey:
        """What a step is known by: by its id alone, where that is unique in all sessions."""
        return ("" if len(native_id) >= SHORT_ID else session, native_id)

    def _name_of(self, step: Step) -> StepKey | None:
        return None if step.native_id is None else self._name(step.session, step.native_id)

    def inherit(self, event: Event, place: str, turn_id: str) -> None:
        """One event that is in the ledger already, up to a turn: its source was written from there."""
        if isinstance(event, Step):
            lane = self._lane(event.session)
            lane.last_at = lane.last_at if event.at is None else event.at
            lane.at = Spot(turn_id, WHOLE)
            self.chain.place(self._add_to_chain(event), turn_id)
            self._inherited[event.session] = event.native_id or self._inherited.get(event.session)
            if isinstance(event, Noted):
                lane.settings = noted(lane.settings, event)
            elif isinstance(event, Compacted):
                found = None if event.native_id is None else self._ledger.find(event.session, event.native_id)
                lane.kept = dict.fromkeys((event.kept or ())[:_KEPT], found or lane.at)
        elif isinstance(event, Facts):
            self.take(event, place)

    def inherited(self) -> None:
        """What was written from the ledger ends here: the next step follows the last one of it."""
        for session, native_id in self._inherited.items():
            lane = self._lane(session)
            lane.count += 1
            if native_id is not None:
                self._stand(lane, native_id, lane.at, None)
        self._inherited = {}

    def finish(self) -> None:
        """The source ends here, for now."""
        for pending in self.pending:
            lane = self.lanes[pending.session]
            if pending.parent not in self.pending and self._look(lane, pending.parent[1]) is None:
                lane.is_provisional = True
        if self.pending.count:
            self._give_up(_ALL)
        for lane in self.lanes.values():
            if lane.open is not None and lane.at.turn is lane.open and self._is_inside(lane.at):
                lane.is_provisional = True  # what follows there tells whether the rest of the turn is another branch
            if lane.open is not None:
                if lane.ahead and lane.at.turn is lane.open:
                    ended_at = lane.open.ended_at
                    for step, at, place in lane.ahead:
                        lane.open.say(step, at, place)
                    lane.open.ended_at = ended_at  # it is no part of this turn
                    lane.shown = len(lane.ahead)
                self._ledger.store(lane.open, is_final=False)
                self.chain.settle(lane.open)

    def forget(self) -> None:
        """Everything closed is in the ledger now: only what is open has to be remembered."""
        opened = {id(lane.open) for lane in self.lanes.values()}
        self._where = {key: spot for key, spot in self._where.items() if spot is ROOT or id(spot.turn) in opened}
        for lane in self.lanes.values():
            # by their ids from now on: a turn that holds the one before it would hold all of a long conversation
            lane.at = _closed(lane.at, lane)
            lane.kept = {native: _closed(spot, lane) for native, spot in lane.kept.items()}
            if lane.open is not None and lane.open.parent is not None:
                lane.open.parent = _closed(lane.open.parent, lane)
        for pending in self.pending:
            if (spot := pending.before_spot) is not None:
                pending.before = _closed(spot, self.lanes[pending.session])

    def let_go(self) -> None:
        """The source is read: nothing of it is held in memory until Python looks for circles."""
        self.lanes.clear()
        self._where.clear()
        self._open.clear()
        self.pending.clear()
        self.chain = _NO_CHAIN

    def state(self) -> list[LaneState]:
        """What to go on from."""
        return [_state(lane, self.chain.state(lane.session)) for lane in self.lanes.values()]

    def resume(self, states: list[LaneState]) -> None:
        """Goes on where the source ended the last time."""
        self._is_resumed = True
        for state in states:
            lane = self._lane(state.session)
            lane.last_at, lane.count, lane.awaits = state.last_at, state.count, dict.fromkeys(state.awaits)
            lane.settings, lane.ahead = state.settings, list(state.ahead)
            lane.at = Spot(state.at_turn, state.at_position) if state.at_turn else ROOT
            lane.kept = {native: Spot(turn, WHOLE) for native, turn in state.kept.items()}
            lane.is_damaged = state.is_damaged
            keys = [self._key(state.session, known.native_id) for known in state.chain]
            self.chain.resume(state.session, state.chain, keys)
            record = None if state.open_id is None else self._ledger.record(state.open_id)
            if state.open_id is not None and record is None:
                self._ledger.problem(Problem("grew-after-seal", state.open_id), "")
            if record is not None:
                lane.open = reopened(record, state.session, state.joined, state.shown)
                self._open[lane.open.id] = lane
                if state.at_turn == state.open_id:
                    lane.at = Spot(lane.open, state.at_position)
            lane.first = list(state.first)
            self._where.update((self._name(lane.session, native), ROOT) for native in lane.first)
            for step, _at, _place in lane.ahead:
                if step.native_id is not None:
                    self._where[self._name(lane.session, step.native_id)] = lane.at

    def spot_of(self, session: str, native_id: str) -> Spot | None:
        """Where a step of this source is, if it was read lately."""
        return self._where.get(self._name(session, native_id))

    # each kind of step

    def _said(self, lane: Lane, step: Said, at: int, place: str) -> None:
        draft = lane.open
        if draft is not None and step.joins is not None and step.joins in draft.joined_keys:
            self._say(lane, draft, step, at, place)
            return
        if self._is_kept(lane, step) or (not step.starts_turn and self._is_known(lane, step)):
            return
        spot = self._spot(lane, step)
        if _is_ahead(step, draft, spot):
            lane.ahead.append((step, at, place))
            self._stand(lane, step.native_id, spot, None, is_ahead=True)
            return
        lacks_question = step.role in ("assistant", "tool") and step.parent == AFTER_LAST and self._is_first(lane)
        if draft is None or step.starts_turn or not _goes_on(draft, step, spot):
            draft = self._begin(lane, spot, step.identity or step.native_id, at, place)
            draft.native_id = step.native_id
        else:
            self._pour(lane, draft)
        self._say(lane, draft, step, at, place)
        if lacks_question and step.native_id is not None:
            lane.awaits[step.native_id] = None  # another source may know which turn it belongs to

    def _say(self, lane: Lane, draft: Draft, step: Said, at: int, place: str) -> None:
        draft.say(step, at, place)
        self._stand(lane, step.native_id, self._behind(lane, step, draft, draft.index_of(step)), draft)

    def _behind(self, lane: Lane, step: Step, draft: Draft, index: int) -> Spot:
        """The spot behind a step that went into a message of the open turn.

        It is behind everything that the step follows, and behind context that was added beside it: a part or a result
        that completes an earlier message does not lead the session back to that message.
        """
        position = index + 1
        if position < len(draft.messages):
            before = self._before(lane, step)
            if before is not None and before.turn is draft:
                position = min(max(position, before.position), len(draft.messages))
            position = draft.behind_context(position)
        return Spot(draft, position)

    def _answered(self, lane: Lane, step: Answered, at: int, place: str) -> None:
        draft = lane.open
        if draft is not None and draft.answer(step, at, place):
            spot, before = self._behind(lane, step, draft, draft.call_message(step.call) or 0), lane.at
            self._stand(lane, step.native_id, spot, draft)
            if before.turn is draft and before.position > lane.at.position:
                lane.at = before  # the result of a parallel call is no branch: it does not lead the session back
            return
        if self._is_known(lane, step):
            return
        self._ledger.problem(Problem("missing-result", f"no call {step.call[:80]!r}"), place)
        text = step.result if isinstance(step.result, str) else None
        metadata = {"call": step.call, "status": step.status, "error": step.error}
        if text is None and step.result is not None:
            metadata["result"] = step.result
        said = Said(
            session=step.session,
            native_id=step.native_id,
            parent=step.parent,
            role="tool",
            content=text,
            metadata=metadata,
        )
        self._said(lane, said, at, place)

    def _noted(self, lane: Lane, step: Noted) -> None:
        lane.settings = noted(lane.settings, step)
        spot = self._spot(lane, step)
        if lane.open is not None and spot.turn is lane.open:
            lane.open.note(step)
        draft = spot.turn if isinstance(spot.turn, Draft) else None
        self._stand(lane, step.native_id, spot, draft)

    def _compacted(self, lane: Lane, step: Compacted, at: int, place: str) -> None:
        spot = self._spot(lane, step)
        draft = self._begin(lane, spot, step.identity or step.native_id, at, place)
        draft.native_id = step.native_id
        draft.compaction = step
        if step.thinking:  # for readers: the model continues from the summary alone
            remark = {"excludeFromContext": True}
            draft.say(Said(session=step.session, role="assistant", thinking=step.thinking, metadata=remark), at, place)
        if step.usage is not None:
            draft.spend(step.usage, step.native_id, step.model, step.provider, at, None)
        here = Spot(draft, WHOLE)
        self._stand(lane, step.native_id, here, draft)
        lane.kept = dict.fromkeys((step.kept or ())[:_KEPT], here)

    def _other(self, lane: Lane, step: Step, at: int) -> None:
        draft = lane.open
        if isinstance(step, Moved):
            self._close(lane)
            spot = self._moved_to(lane, step)
            self._stand(lane, step.native_id, spot, None)
            self._ledger.moved(lane.session, spot, at)
        elif isinstance(step, Spent) and draft is not None:
            draft.spend_apart(step, at)
        elif isinstance(step, Closed) and draft is not None:
            draft.status, draft.error = step.status, step.error
            draft.ended_at = max(draft.ended_at, at)
        if step.native_id is not None and not isinstance(step, Moved):
            spot = self._spot(lane, step)
            self._stand(lane, step.native_id, spot, spot.turn if isinstance(spot.turn, Draft) else None)

    def _gap(self, lane: Lane, step: Gap) -> None:
        """Note that a record could not be read: steps whose parent is in no source follow the one before them."""
        lane.is_damaged = True
        found = self._look(lane, step.parent) if step.parent else None
        if found is not None:
            lane.at = found

    def _moved_to(self, lane: Lane, step: Moved) -> Spot:
        if step.to is not None:
            found = self._look(lane, step.to)
            return lane.at if found is None else found
        return self._ledger.back(lane.at, step.turns or 0)

    def _facts(self, facts: Facts) -> None:
        lane = self._lane(facts.session)
        if facts.project is not None:
            lane.settings = msgspec.structs.replace(lane.settings, workspace_path=facts.project)
        if facts.created_at is not None and not lane.last_at:
            lane.last_at = facts.created_at
        self._ledger.facts(facts)

    def _base(self, base: Base, place: str) -> None:
        lane = self._lane(base.session)
        inherited = self._ledger.base(base)
        is_whole = False
        for event, where in inherited or ():
            if isinstance(event, Stop):
                is_whole = True
                break
            self.take(event, where)
        if not is_whole:
            lane.awaits[f"session {base.of}"] = None
            self._ledger.problem(Problem("missing-base", base.of), place)

    # places

    def _spot(self, lane: Lane, step: Step) -> Spot:
        """What a step follows."""
        if step.parent == AFTER_LAST:
            return self._known_parent(lane, step) if self._is_first(lane) else lane.at
        if step.parent is None:
            return ROOT
        found = self._look(lane, step.parent)
        if found is not None:
            return found
        assumed = self._assume(lane, step, lane.at)
        if assumed is not None:
            return assumed
        if step.parent not in lane.awaits:
            lane.awaits[step.parent] = None
            self._ledger.problem(Problem("missing-parent", step.parent[:80]), "")
        return ROOT

    def _before(self, lane: Lane, step: Step) -> Spot | None:
        """What a step follows, if it is known."""
        if step.parent == AFTER_LAST:
            return lane.at
        return None if step.parent is None else self._look(lane, step.parent)

    def _is_first(self, lane: Lane) -> bool:
        """Whether nothing was read of a session whose source may have lost its first records."""
        return lane.at is ROOT and not lane.count and self._ledger.may_lack_beginning

    def _known_parent(self, lane: Lane, step: Step) -> Spot:
        """What the first step of a source follows, if it is known: the source has lost its beginning, then."""
        identity = step.identity if isinstance(step, Said | Compacted) else None
        name = identity or step.native_id
        if name is None:
            return ROOT
        if isinstance(step, Compacted) or (isinstance(step, Said) and step.starts_turn):
            turn_id = self._ledger.begun_with(lane.session, name)
            return ROOT if turn_id is None else self._ledger.above(turn_id)
        found = self._ledger.find(lane.session, name) if isinstance(step, Noted) else None
        return ROOT if found is None else found

    def _look(self, lane: Lane, native_id: str) -> Spot | None:
        kept = lane.kept.get(native_id)
        if kept is not None:
            return kept
        found = self._where.get(self._name(lane.session, native_id)) or self._ledger.find(lane.session, native_id)
        if found is not None and lane.open is not None and found.turn == lane.open.id:
            return Spot(lane.open, found.position)  # read in an earlier piece
        return found

    def _is_kept(self, lane: Lane, step: Said) -> bool:
        """Whether a step was written again after a compaction that kept it: then it is in the tree above."""
        if step.native_id is None or step.native_id not in lane.kept:
            return False
        if self._ledger.find(lane.session, step.native_id) is None:
            return False
        lane.at = lane.kept[step.native_id]
        return True

    def _is_known(self, lane: Lane, step: Step) -> bool:
        """Whether a step that goes nowhere here is in the ledger: a source that lost its beginning, an archive."""
        if step.native_id is None or step.native_id in ("", step.parent):
            return False
        if lane.open is not None and self._follows_open(lane, step):
            return False
        found = self._ledger.find(lane.session, step.native_id)
        if found is None or (_is_context(step) and self._ledger.is_leading(found)):
            return False  # (what stands ahead of a question goes with it, in copies too)
        self._close(lane)
        lane.at = found
        return True

    def _follows_open(self, lane: Lane, step: Step) -> bool:
        before = self._before(lane, step)
        return before is not None and before.turn is lane.open

    def _stand(
        self, lane: Lane, native_id: str | None, spot: Spot, draft: Draft | None, *, is_ahead: bool = False
    ) -> None:
        """A step stands here, and so does its session."""
        lane.at = spot
        if native_id is not None:
            if (native_id in lane.awaits or native_id in self._assumed) and native_id not in self.late:
                self._ledger.came_late(native_id)
            self._where[self._name(lane.session, native_id)] = spot
            if draft is not None and not (draft.is_stored and draft is not lane.open):
                draft.steps.append((native_id, spot.position))
            elif spot is ROOT:
                lane.first = [*lane.first[-_KEPT:], native_id]
            elif not is_ahead:
                self._ledger.stand(lane.session, native_id, spot)

    def _begin(self, lane: Lane, spot: Spot, identity: str | None, at: int, place: str) -> Draft:
        self._close(lane)
        if spot is not ROOT:
            other = self._open.get(id_of(spot))
            if other is not None:
                self._close(other)  # the conversation goes on under another session's id
            if self._is_inside(spot):
                spot = self._ledger.cut(spot)
        name = identity or f"{lane.session}#{lane.count}"
        # a copy may have other times (Claude Code 1.0 forks): a turn that began with this step is the same one
        turn_id = self._ledger.begun_with(lane.session, name) or ids.derived(at, self.origin, name)
        draft = Draft(turn_id, lane.session, None if spot is ROOT else spot, at)
        draft.identity = name
        draft.settings = lane.settings
        draft.evidence = place
        lane.open = draft
        self._open[draft.id] = lane
        lane.count += 1
        self._pour(lane, draft)
        return draft

    def _pour(self, lane: Lane, draft: Draft) -> None:
        """What was put before the model ahead of this goes into the turn."""
        ahead, lane.ahead = lane.ahead, []
        for step, at, place in ahead:
            self._say(lane, draft, step, at, place)

    def _is_inside(self, spot: Spot) -> bool:
        if spot.position >= WHOLE:
            return False
        turn = spot.turn
        if isinstance(turn, Draft):
            return not turn.ends_at(spot.position)
        return not self._ledger.ends_at(turn, spot.position)

    def _close(self, lane: Lane) -> None:
        if lane.open is not None:
            self._open.pop(lane.open.id, None)
            self._ledger.store(lane.open, is_final=not lane.awaits and not lane.is_provisional)
            self.chain.settle(lane.open)
            lane.open = None

    def _lane(self, session: str) -> Lane:
        found = self.lanes.get(session)
        if found is None:
            found = self.lanes[session] = Lane(session)
        return found


def _state(lane: Lane, chain: list[KnownEntry]) -> LaneState:
    turn = lane.at.turn
    settings: Any = lane.settings
    return LaneState(
        session=lane.session,
        open_id=None if lane.open is None else lane.open.id,
        at_turn=turn.id if isinstance(turn, Draft) else turn,
        at_position=lane.at.position,
        last_at=lane.last_at,
        count=lane.count,
        awaits=list(lane.awaits),
        settings=settings,
        joined={} if lane.open is None else lane.open.joined(),
        kept={native: _turn_id(spot) for native, spot in lane.kept.items()},
        ahead=lane.ahead,
        shown=lane.shown,
        first=lane.first,
        is_provisional=lane.is_provisional,
        is_damaged=lane.is_damaged,
        chain=chain,
    )


def _is_ahead(step: Said, draft: Draft | None, spot: Spot) -> bool:
    """Whether a message is context for a question that is still to come (or for the model's going on by itself)."""
    if step.starts_turn or not (step.source == "context" or step.role == "system"):
        return False
    return draft is None or draft.status is not None or not _goes_on(draft, step, spot) or draft.has_answered


def _is_context(step: Step) -> bool:
    return isinstance(step, Said) and (step.source == "context" or step.role == "system")


def _goes_on(draft: Draft, step: Said, spot: Spot) -> bool:
    """Whether a message that follows a place belongs to the turn in progress."""
    if draft.compaction is not None or spot.turn is not draft:
        return False
    # the result of a parallel call is no branch, wherever in the turn its call was
    return draft.ends_at(spot.position) or is_loose_result(step.role, step.metadata)


def _closed(spot: Spot, lane: Lane) -> Spot:
    """A spot without the draft of a turn that is closed."""
    turn = spot.turn
    return Spot(turn.id, spot.position) if isinstance(turn, Draft) and turn is not lane.open else spot


def _turn_id(spot: Spot) -> str:
    return spot.turn.id if isinstance(spot.turn, Draft) else spot.turn
