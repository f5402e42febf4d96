"""The state machine: random histories on the real ledger and on the model, compared after every step."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from agents_ledger import Call, Env, Ledger, LiveCall, LiveTurn, Message, Settings, Turn, Usage
from agents_ledger.errors import (
    AliasCycle,
    BadInput,
    ContentDiffers,
    HeadMoved,
    LabelTaken,
    LeaseLost,
    LedgerError,
    NotAllowed,
    NotFound,
    SessionArchived,
    TurnIsLive,
    UnresolvedCalls,
)
from agents_ledger.model.ids import UlidSource
from agents_ledger.model.rows import LeaseRow
from agents_ledger.store import Tx
from tests.machine import checks
from tests.machine.model import Line, Model, ModelMove, ModelSession, ModelTurn
from tests.support.leases import give_lease

LABELS = [f"s{n}" for n in range(6)]
NAMES = [*LABELS, "alias-1", "alias-2"]
TEXTS = ["", "hello", "a\x00b", "lone \ud800", "naïve ✓", "'; DROP TABLE turns; --"]
picks = st.integers(0, 9999)
texts = st.sampled_from(TEXTS)
tokens = st.sampled_from([None, 0, 7, 1000])


class LedgerMachine(RuleBasedStateMachine):
    """One random history. `open_ledger` gives a ledger that is empty."""

    open_ledger: Callable[[Env], Ledger]
    every = 25  # steps between two thorough checks

    def __init__(self) -> None:
        super().__init__()
        self.clock = 1_700_000_000_000
        self.env = Env(now=lambda: self.clock, new_id=UlidSource())
        self.ledger = type(self).open_ledger(self.env)
        self.model = Model()
        self.frozen: dict[str, checks.Frozen] = {}
        self.live: dict[str, LiveTurn] = {}
        self.calls: dict[str, list[LiveCall]] = {}
        self.steps = 0

    def teardown(self) -> None:
        try:
            checks.thorough(self.ledger, self.model, self.frozen)
        finally:
            for turn in self.live.values():
                self.ledger.unwatch(turn)
            self.live.clear()
            self.close_ledger()

    def close_ledger(self) -> None:
        """Gives back what `open_ledger` took."""
        self.ledger.database.close()

    # the rules: growing the tree

    @rule(pick=picks, text=texts, total=tokens, system=st.booleans(), fails=st.booleans())
    def advance(self, pick: int, text: str, total: int | None, system: bool, fails: bool) -> None:
        label = NAMES[pick % len(NAMES)]
        turn = exchange(text, total, system=system, fails=fails)
        if self._refused_by_status(label, lambda: self.ledger.append(label, turn)):
            return
        before = self._head(label)
        turn_id = self.ledger.append(label, turn)
        self._know(turn_id, before, turn)
        self._session(label)
        self._moved(label, turn_id, "advance")
        self._after()

    @precondition(lambda self: self.model.sealed())
    @rule(pick=picks, other=picks, text=texts)
    def advance_only_from(self, pick: int, other: int, text: str) -> None:
        """Compare-and-set: it succeeds exactly if the head is the expected one."""
        label, expect = LABELS[pick % len(LABELS)], self._any(self.model.sealed(), other)
        if self._refused_by_status(label, lambda: self.ledger.append(label, exchange(text, 1))):
            return
        head = self._head(label)
        if head != expect:
            refused(HeadMoved, lambda: self.ledger.append(label, exchange(text, 1), expect=expect))
            self._after()
            return
        turn = exchange(text, 1)
        turn_id = self.ledger.append(label, turn, expect=expect)
        self._know(turn_id, head, turn)
        self._moved(label, turn_id, "advance")
        self._after()

    @precondition(lambda self: self.model.sealed())
    @rule(pick=picks, text=texts, total=tokens)
    def branch(self, pick: int, text: str, total: int | None) -> None:
        parent = self._any(self.model.sealed(), pick)
        turn = exchange(text, total)
        self._know(self.ledger.branch(parent, turn), parent, turn)
        self._after()

    @precondition(lambda self: self.model.sealed())
    @rule(pick=picks, altered=st.booleans())
    def append_again(self, pick: int, altered: bool) -> None:
        """The same id again: nothing new if it is the same turn, refused if it is not."""
        turn_id = self._any([each for each in self.model.sealed() if self.frozen[each].given is not None], pick)
        given = self.frozen[turn_id].given if turn_id else None
        if given is None:
            return
        turn, parent = given, self.model.turns[turn_id].parent
        if altered:
            other = Turn(messages=(*turn.messages, Message("user", "more")), id=turn_id)
            refused(ContentDiffers, lambda: self.ledger.branch(parent, other))
        else:
            again = Turn(turn.messages, turn.calls, turn.usage, turn.settings, turn.status, turn.error, id=turn_id)
            assert self.ledger.branch(parent, again) == turn_id
        self._after()

    @rule(pick=picks, keep=st.integers(0, 4), text=texts)
    def compact(self, pick: int, keep: int, text: str) -> None:
        label = self._any(list(self.model.sessions), pick)
        if label is None or self._refused_by_status(label, lambda: self.ledger.compact(label, text)):
            return
        head = self._head(label)
        path, seen = ([], []) if head is None else (self.model.path(head), self.model.heard_turns(head))
        before = None if head is None else self.model.newest_compaction(head)
        done = 0 if before is None or before.through is None else path.index(before.through) + 1
        kind = "summary" if text else "sliding_window"
        if self._is_written_behind(label, head):
            refused(TurnIsLive, lambda: self.ledger.compact(label, text, keep=keep, type=kind))
            self._after()
            return
        if head is None or keep > max(len(seen) - (before is None), 0):
            refused((BadInput, NotAllowed), lambda: self.ledger.compact(label, text, keep=keep, type=kind))
            self._after()
            return
        if not text:
            refused(BadInput, lambda: self.ledger.compact(label, text, keep=keep))
        turn_id = self.ledger.compact(label, text, keep=keep, type=kind, trigger="manual")
        through, kept = self.model.cut(head, seen[len(seen) - keep :])
        self.model.turns[turn_id] = ModelTurn(
            turn_id, head, [], summary=as_read(text), through=through, first_kept=kept
        )
        row = self.ledger.get(turn_id).compaction
        assert row is not None
        assert row.turns_summarized == path.index(through) + 1 - done
        self.model.seq += 1
        self._freeze(turn_id)
        self._moved(label, turn_id, "advance")
        self._after()

    @rule(pick=picks, other=picks, fails=st.booleans())
    def delegate(self, pick: int, other: int, fails: bool) -> None:
        """A finished turn whose call names its subagent: a session that is made then, or that was nobody's before."""
        label, sub = LABELS[pick % len(LABELS)], NAMES[other % len(NAMES)]
        call = Call("Task", spawned=sub, status="failed" if fails else "completed")
        turn = Turn(messages=(Message("user", "do it"),), calls=(call,))
        if self._refused_by_status(label, lambda: self.ledger.append(label, turn)):
            return
        name, known = self.model.resolve(label) or label, self.model.sessions.get(sub)
        if known is None and sub in self.model.aliases:
            refused(LabelTaken, lambda: self.ledger.append(label, turn))
        elif (known is not None and known.parent is not None) or self.model.is_above(sub, name):
            refused(BadInput, lambda: self.ledger.append(label, turn))
        else:
            refused(BadInput, lambda: self.ledger.branch(self._head(label), turn))
            before, turn_id = self._head(label), self.ledger.append(label, turn)
            self._know(turn_id, before, turn)
            self._session(label)
            self._moved(label, turn_id, "advance")
            child = self.model.sessions.setdefault(sub, ModelSession())
            child.parent, child.parent_call = name, self.ledger.get(turn_id).calls[0].id
            child.task_status = "failed" if fails else "completed"
            self.model.seq += 2
        self._after()

    # the rules: moving pointers

    @precondition(lambda self: self.model.turns)
    @rule(pick=picks, name=picks)
    def fork(self, pick: int, name: int) -> None:
        turn_id = self._any(list(self.model.turns), pick)
        label = NAMES[name % len(NAMES)]
        if self.model.turns[turn_id].is_live:
            refused(TurnIsLive, lambda: self.ledger.fork(turn_id, label))
        elif label in self.model.sessions or label in self.model.aliases:
            refused(LabelTaken, lambda: self.ledger.fork(turn_id, label))
        else:
            assert self.ledger.fork(turn_id, label).thread_id == turn_id
            self._session(label)
            self._moved(label, turn_id, "fork")
        self._after()

    @precondition(lambda self: self.model.sealed())
    @rule(pick=picks, other=picks)
    def rewind(self, pick: int, other: int) -> None:
        label, target = self._any(list(self.model.sessions), pick), self._any(self.model.sealed(), other)
        if label is None or self._refused_by_status(label, lambda: self.ledger.rewind(label, target)):
            return
        head = self._head(label)
        if head is None or target == head or not self.model.is_ancestor(target, head):
            refused((BadInput, NotAllowed), lambda: self.ledger.rewind(label, target))
        else:
            self.ledger.rewind(label, target)
            self._moved(label, target, "rewind")
        self._after()

    @rule(pick=picks, turns=st.integers(0, 3))
    def roll_back(self, pick: int, turns: int) -> None:
        label = self._any(list(self.model.sessions), pick)
        if label is None or self._refused_by_status(label, lambda: self.ledger.rollback(label, turns=turns)):
            return
        head = self._head(label)
        path = [] if head is None else self.model.path(head)
        if not 1 <= turns < len(path):
            refused((BadInput, NotAllowed), lambda: self.ledger.rollback(label, turns=turns))
        else:
            self.ledger.rollback(label, turns=turns)
            self._moved(label, path[-1 - turns], "rewind")
        self._after()

    @rule(pick=picks)
    def forward(self, pick: int) -> None:
        label = self._any(list(self.model.sessions), pick)
        if label is None or self._refused_by_status(label, lambda: self.ledger.forward(label)):
            return
        name = self.model.resolve(label)
        assert name is not None
        target = self.model.forward_target(name)
        if target is None:
            refused(NotAllowed, lambda: self.ledger.forward(label))
        else:
            assert self.ledger.forward(label).thread_id == target
            self._moved(label, target, "replay")
        self._after()

    @rule(pick=picks, turns=st.integers(1, 2), more=st.integers(0, 2))
    def wander(self, pick: int, turns: int, more: int) -> None:
        """Back, further back, and forward again: what is ahead then is more than one turn."""
        self.roll_back(pick, turns)
        self.roll_back(pick, more)
        self.forward(pick)

    @rule(pick=picks, archive=st.booleans())
    def put_away(self, pick: int, archive: bool) -> None:
        label = self._any(list(self.model.sessions), pick)
        if label is None:
            return
        session = self.model.sessions[label]
        if not archive and label in self.model.aliases:
            refused(LabelTaken, lambda: self.ledger.unarchive(label))
            return
        (self.ledger.archive if archive else self.ledger.unarchive)(label)
        wanted = "archived" if archive else "active"
        self.model.seq += int(session.status != wanted)
        session.status = wanted
        self._after()

    @rule(pick=picks, name=picks)
    def alias(self, pick: int, name: int) -> None:
        alias, label = NAMES[name % len(NAMES)], NAMES[pick % len(NAMES)]
        target = self.model.resolve(label)
        own = self.model.sessions.get(alias)
        if target is None:
            refused(NotFound, lambda: self.ledger.alias(alias, label))
        elif alias in (label, target):
            refused(AliasCycle, lambda: self.ledger.alias(alias, label))
        elif (own and own.status == "active") or self.model.aliases.get(alias, target) != target:
            refused(LabelTaken, lambda: self.ledger.alias(alias, label))
        else:
            assert self.ledger.alias(alias, label).session_label == target
            moved = [other for other, to in self.model.aliases.items() if to == alias]
            self.model.aliases.update(dict.fromkeys([*moved, alias], target))
            self.model.seq += 1 + len(moved)
        self._after()

    @rule(pick=picks, other=picks, is_known_otherwise=st.booleans())
    def merge(self, pick: int, other: int, is_known_otherwise: bool) -> None:
        if is_known_otherwise:
            self.alias(pick % len(LABELS), len(LABELS) + other % 2)
        source, target = LABELS[pick % len(LABELS)], LABELS[other % len(LABELS)]
        one, two = self.model.resolve(source), self.model.resolve(target)
        if one is None or two is None:
            refused((NotFound, SessionArchived), lambda: self.ledger.merge(source, target))
        elif "archived" in (self.model.sessions[one].status, self.model.sessions[two].status):
            refused(SessionArchived, lambda: self.ledger.merge(source, target))
        elif one == two:
            refused(AliasCycle, lambda: self.ledger.merge(source, target))
        else:
            assert self.ledger.merge(source, target).label == two
            moved = [alias for alias, to in self.model.aliases.items() if to == one]
            self.model.aliases.update(dict.fromkeys([*moved, one], two))
            self.model.sessions[one].status = "archived"
            self.model.seq += 2 + len(moved)
        self._after()

    # the rules: live turns

    @precondition(lambda self: len(self.live) < 3)
    @rule(pick=picks, text=texts)
    def begin(self, pick: int, text: str) -> None:
        label = NAMES[pick % len(NAMES)]
        if self._refused_by_status(label, lambda: self.ledger.turn(label, text)):
            return
        head = self._head(label)
        turn = self.ledger.turn(label, text, tools=["Read"])
        self._session(label)
        self.live[turn.id] = turn
        self.calls[turn.id] = []
        self.model.turns[turn.id] = ModelTurn(turn.id, head, [("user", as_read(text))], status="pending", is_live=True)
        self._after()

    @precondition(lambda self: self.live)
    @rule(pick=picks, text=texts, kind=st.sampled_from(["reply", "stream", "call", "finish", "spawn"]))
    def speak(self, pick: int, text: str, kind: str) -> None:
        turn = self.live[self._any(list(self.live), pick)]
        known, calls = self.model.turns[turn.id], self.calls[turn.id]
        opened = [at for at, (_, status) in enumerate(known.calls) if status == "running"]
        if kind == "call" or (kind in {"finish", "spawn"} and not opened):
            calls.append(turn.call("Read", {"path": "a"}, id="toolu_1"))
            known.calls.append(("Read", "running"))
            opened.append(len(calls) - 1)
        if kind == "reply":
            turn.reply(text, thinking=text, usage=Usage(input=3))
            known.messages.append(("assistant", as_read(text)))
            known.total = (known.total or 0) + 3
        elif kind == "stream":
            first = turn.stream(text)
            assert turn.stream("…", thinking="hm") == first
            turn.reply()
            known.messages.append(("assistant", as_read(text) + "…"))
        elif kind == "finish":
            calls[opened[0]].complete({"text": "ok"}) if pick % 2 else calls[opened[0]].fail(text)
            known.calls[opened[0]] = ("Read", "completed" if pick % 2 else "failed")
            self._task_ended(calls[opened[0]].id, "completed" if pick % 2 else "failed")
        elif kind == "spawn":
            self._spawn(turn.session, calls[opened[0]])
        known.status = "streaming"
        self._after()

    @precondition(lambda self: self.live)
    @rule(pick=picks, fails=st.booleans())
    def end(self, pick: int, fails: bool) -> None:
        turn_id = self._any(list(self.live), pick)
        turn, known = self.live[turn_id], self.model.turns[turn_id]
        label = turn.session
        session = self.model.sessions[label]
        if fails:
            turn.fail("no more")
            self._abandon(turn_id)
        elif any(status == "running" for _, status in known.calls):
            refused(UnresolvedCalls, turn.complete)
            self._after()
            return
        elif session.status != "active":
            refused(SessionArchived, turn.complete)
        elif session.head != known.parent:
            refused(HeadMoved, turn.complete)
        else:
            turn.complete()
        self._sealed_live(turn_id, label, "failed" if fails else "completed", "advance")
        self._after()

    @precondition(lambda self: self.live)
    @rule(ends=st.booleans())
    def writers_die(self, *, ends: bool) -> None:
        """All live turns lose their writers; the next opener closes them as failed, and late words are refused."""
        # leases are not part of the record: this is what a dead process leaves behind
        self.ledger.database.write(_orphan_leases)
        recovered = self.ledger.recover()
        assert sorted(recovered) == sorted(self.live)
        for turn_id in recovered:
            turn, known = self.live[turn_id], self.model.turns[turn_id]
            self._abandon(turn_id)
            known.total = None
            refused(LeaseLost, turn.complete if ends else lambda: turn.reply("too late"))  # noqa: B023 - called at once
            self.ledger.unwatch(turn)
            self._sealed_live(turn_id, turn.session, "failed", "recover")
        self._after()

    # the rules: the world

    @rule(step=st.sampled_from([-5000, 0, 1, 60_000]))
    def tick(self, step: int) -> None:
        self.clock += step

    @precondition(lambda self: self.model.sealed())
    @rule(pick=picks, text=texts)
    def read_while_written(self, pick: int, text: str) -> None:
        """A snapshot does not see what is committed meanwhile."""
        label = LABELS[pick % len(LABELS)]
        if self.model.resolve(label) is None or self._refused_by_status(label, lambda: None, probe=True):
            return
        checks.heads_in_one_snapshot(
            self.ledger, lambda: self.advance(pick % len(LABELS), text, 1, system=False, fails=False)
        )

    @precondition(lambda self: self.model.sealed())
    @rule(pick=picks, what=st.sampled_from(checks.TAMPERINGS))
    def tamper(self, pick: int, what: str) -> None:
        """Plain SQL can't change what is sealed."""
        checks.refuses(self.ledger, what, self._any(self.model.sealed(), pick))

    # helpers

    def _after(self) -> None:
        self.steps += 1
        checks.quick(self.ledger, self.model)
        if self.steps % self.every == 0:
            checks.thorough(self.ledger, self.model, self.frozen)

    def _any(self, among: list[str], pick: int) -> Any:
        return among[pick % len(among)] if among else None

    def _head(self, label: str) -> str | None:
        name = self.model.resolve(label)
        return None if name is None else self.model.sessions[name].head

    def _session(self, label: str) -> None:
        if self.model.resolve(label) is None:
            self.model.sessions[label] = ModelSession()
            self.model.seq += 1

    def _is_written_behind(self, label: str, head: str | None) -> bool:
        """Whether a live turn of a session follows its head."""
        name = self.model.resolve(label)
        live = [self.model.turns[turn_id].parent for turn_id, turn in self.live.items() if turn.session == name]
        return head is not None and head in live

    def _refused_by_status(self, label: str, do: Callable[[], object], *, probe: bool = False) -> bool:
        name = self.model.resolve(label)
        if name is None or self.model.sessions[name].status == "active":
            return False
        if not probe:
            refused(SessionArchived, do)
        return True

    def _know(self, turn_id: str, parent: str | None, turn: Turn) -> None:
        lines: list[Line] = [(message.role, as_read(message.content)) for message in turn.messages]
        calls: list[tuple[str, str]] = [(call.tool, call.status) for call in turn.calls]
        self.model.turns[turn_id] = ModelTurn(turn_id, parent, lines, calls, turn.status, turn.usage.sum_total())
        self.model.seq += 1
        self._freeze(turn_id, turn)

    def _moved(self, label: str, to: str, reason: str) -> None:
        name = self.model.resolve(label)
        assert name is not None
        session = self.model.sessions[name]
        if self.model.seq + 1 == 1:
            raise AssertionError("a session is logged before it moves")
        self.model.seq += 1
        session.moves.append(ModelMove(self.model.seq, self.clock, session.head, to, reason))

    def _freeze(self, turn_id: str, given: Turn | None = None) -> None:
        self.frozen[turn_id] = checks.freeze(self.ledger, turn_id, given)

    def _sealed_live(self, turn_id: str, label: str, status: str, reason: str) -> None:
        known, session = self.model.turns[turn_id], self.model.sessions[label]
        known.is_live, known.status = False, status
        self.model.seq += 1
        if session.head == known.parent and session.status == "active":
            self.model.seq += 1
            session.moves.append(ModelMove(self.model.seq, self.clock, session.head, turn_id, reason))
        self._freeze(turn_id)
        del self.live[turn_id], self.calls[turn_id]

    def _abandon(self, turn_id: str) -> None:
        known = self.model.turns[turn_id]
        for at, (name, status) in enumerate(known.calls):
            if status == "running":
                known.calls[at] = (name, "abandoned")
                self._task_ended(self.calls[turn_id][at].id, "failed")

    def _spawn(self, parent: str, call: LiveCall) -> None:
        label = f"sub-{call.id[-8:].lower()}"
        if label in self.model.sessions:
            refused(LedgerError, lambda: call.spawn(label, "look"))
            return
        call.spawn(label, "look")
        self.model.sessions[label] = ModelSession(parent=parent, parent_call=call.id, task_status="running")
        self.model.seq += 2

    def _task_ended(self, call_id: str, status: str) -> None:
        for session in self.model.sessions.values():
            if session.parent_call == call_id:
                session.task_status = status
                self.model.seq += 1


def exchange(text: str, total: int | None, *, system: bool = False, fails: bool = False) -> Turn:
    opening = (Message("system", f"be {text}"),) if system else ()
    return Turn(
        messages=(*opening, Message("user", text), Message("assistant", f"re: {text}", thinking="…")),
        calls=(Call("Read", {"path": text}, result=[text, 1 << 70]), Call("Shell", None, error=text, status="failed")),
        usage=Usage(total=total),
        settings=Settings(model="m", tools=("Read",)),
        status="failed" if fails else "completed",
        error=text if fails else None,
    )


def as_read(text: str | None) -> str:
    """What a reader of the column sees."""
    return (text or "").replace("\x00", "␀").replace("\ud800", "\ufffd")


def refused(kind: type[Exception] | tuple[type[Exception], ...], do: Callable[[], object]) -> None:
    try:
        do()
    except kind:
        return
    raise AssertionError(f"{kind} was expected")


def _orphan_leases(tx: Tx) -> None:
    for row in tx.rows("all_leases"):
        held = LeaseRow(row[0], row[1], writer="elsewhere|1|1|x", token="gone", expires_at=0)  # noqa: S106 - no secret
        give_lease(tx, held)
