"""A session compacted by a summariser: look, write memory down, summarise, write.

Nothing is held while the summariser works: it is asked outside of any transaction. Turns that came meanwhile are kept
word for word behind the cut. If the session went elsewhere, or no usable summary comes, nothing is written.
"""

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from agents_ledger.errors import HeadMoved, NotAllowed, SummariserFailed, TurnIsLive
from agents_ledger.ledger import append, compact, context, policy, sessions, stages, threads
from agents_ledger.ledger.build import prepare
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.passages import passage
from agents_ledger.ledger.policy import Plan, Policy
from agents_ledger.ledger.records import read_turn, spoken
from agents_ledger.ledger.tokens import How, Tokens, count, estimate_rows, estimate_turn
from agents_ledger.model.entries import Compaction, Settings, Trigger, Turn, Usage
from agents_ledger.model.estimates import AROUND_A_MESSAGE, estimate
from agents_ledger.model.extractive import Extractive
from agents_ledger.model.rows import Record
from agents_ledger.model.summary import Summariser, Summary, Task
from agents_ledger.store import Database, Tx

_LONGER = 4  # a summary may be so many times longer than it was asked to be: models count badly
_POLL_S = 0.1


class Flush(Struct, frozen=True):
    """What a memory flush is told: what will soon be seen as a summary only."""

    session: str
    turn_id: str
    tokens: Tokens
    text: str  # the context, as a person reads it


FlushHook = Callable[[Flush], Any]
"""Writes down what must not be lost, before a compaction; what it gives is recorded (as text). It may append turns."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What a compaction did and cost."""

    turn_id: str
    session: str
    trigger: str
    strategy: str
    mode: str
    model: str | None
    provider: str | None
    turns_summarised: int
    turns_kept: int
    tokens_before: Tokens
    tokens_after: int
    summary_tokens: int
    input_tokens: int | None
    output_tokens: int | None
    duration_ms: int
    summary: str
    flush: Any = None


class Made(Struct, frozen=True):
    """A summary and how it came about, ready to be written."""

    plan: Plan
    summary: Summary
    duration_ms: int
    flushed: Any


class Compactor(Struct, frozen=True, kw_only=True):
    """Who compacts, and how."""

    database: Database
    env: Env
    policy: Policy = Policy()
    summariser: Summariser = Extractive()
    flush: FlushHook | None = None
    patience_s: float = 30.0  # how long it waits for a live turn of the session to end
    pause: Callable[[float], object] = time.sleep

    def run(self, session: str, trigger: Trigger | None) -> Outcome | None:
        """Compacts a session; without a trigger only if it is due (None, if it is not)."""
        label, head = self._look(session)
        if trigger is None:
            with self.database.read() as tx:
                trigger = policy.due(tx, head, self.policy).trigger
            if trigger is None:
                return None
        flushed = None
        if self.flush is not None:
            flushed = self._flushed(self.flush, label, head)
            label, head = self._look(session)  # it may have added turns
        made = self._make(head, flushed)
        return self._write(label, trigger, made)

    def _look(self, session: str) -> tuple[str, str]:
        with self.database.read() as tx:
            row = sessions.require_active(tx, session)
        if row.thread_id is None:
            raise NotAllowed(f"session {session!r} has no turns yet: nothing to compact")
        return row.label, row.thread_id

    def _flushed(self, flush: FlushHook, label: str, head: str) -> dict[str, Any]:
        """What came of a memory flush, for the record."""
        with self.database.read() as tx:
            policy.plan(tx, head, self.policy)  # nobody is asked to write memory down if there is nothing to compact
            seen = context.assemble(tx, head)
            told = Flush(label, head, count(tx, seen), context.as_text(seen))
        begun = self.env.now()
        try:
            given = flush(told)
        except Exception as problem:  # somebody else's code: the record says what it raised
            if self.policy.mode == "safeguard":
                raise NotAllowed(f"memory could not be written down, so nothing was compacted: {problem}") from problem
            return {"at": begun, "error": f"{type(problem).__name__}: {problem}"}
        result = None if given is None else str(given)
        return {"at": begun, "duration_ms": max(self.env.now() - begun, 0), "result": result}

    def _make(self, head: str, flushed: Any) -> Made:
        with self.database.read() as tx:
            planned = policy.plan(tx, head, self.policy)
        begun = time.monotonic()
        summary = self._summarise(planned)
        return Made(planned, summary, round((time.monotonic() - begun) * 1000), flushed)

    def _summarise(self, planned: Plan) -> Summary:
        if self.policy.strategy == "sliding_window":
            return Summary(text="", model="none")
        task = Task(
            passages=tuple(passage(turn) for turn in planned.dropped),
            earlier=planned.earlier,
            instructions=self.policy.instructions,
            limit_tokens=self.policy.limit_tokens,
        )
        ask = stages.ask_safely if self.policy.mode == "safeguard" else stages.ask
        summary = ask(self.summariser, task)
        _refuse_nonsense(summary, planned, self.policy)
        return summary

    def _write(self, label: str, trigger: Trigger, made: Made) -> Outcome:
        """Waits for live turns, then writes in one transaction, if the session is where it was, or further on."""
        waited = 0.0
        while True:
            try:
                return self.database.write(lambda tx: self._body(tx, label, trigger, made))
            except TurnIsLive:
                if waited >= self.patience_s:
                    raise
            self.pause(_POLL_S)
            waited += _POLL_S

    def _body(self, tx: Tx, label: str, trigger: Trigger, made: Made) -> Outcome:
        planned = made.plan
        head = sessions.require_active(tx, label).thread_id
        _refuse_elsewhere(tx, label, head, planned)
        compact.refuse_live(tx, label, head)
        later = _later(tx, head, planned)
        given, outcome = self._compaction(label, trigger, made, later)
        settings = Settings(model=given.model, provider=given.provider)
        spent = Usage(input=given.input_tokens, output=given.output_tokens)
        turn = Turn(compaction=given, settings=settings, usage=spent)
        turn_id = append.append(tx, self.env, label, prepare(turn, self.env), sessions.Origin(), head)
        return structs.replace(outcome, turn_id=turn_id)

    def _compaction(self, label: str, trigger: Trigger, made: Made, later: list[Record]) -> tuple[Compaction, Outcome]:
        planned, summary = made.plan, made.summary
        after, summary_tokens = tokens_after(planned, summary, later), estimate(summary.text)
        picked = None if planned.picked is None else (*planned.picked, *(record.turn.id for record in later))
        outcome = Outcome(
            turn_id="",
            session=label,
            trigger=trigger,
            strategy=self.policy.strategy,
            mode=self.policy.mode,
            model=summary.model,
            provider=summary.provider,
            turns_summarised=len(planned.dropped),
            turns_kept=len(planned.kept) + len(later),
            tokens_before=planned.tokens,
            tokens_after=after,
            summary_tokens=summary_tokens,
            input_tokens=summary.input_tokens,
            output_tokens=summary.output_tokens,
            duration_ms=made.duration_ms,
            summary=summary.text,
            flush=made.flushed,
        )
        given = Compaction(
            summary.text,
            through=planned.through,
            first_kept=planned.first_kept,
            first_kept_message_id=planned.first_kept_message_id,
            kept=picked,
            type=self.policy.strategy,
            model=summary.model,
            provider=summary.provider,
            tokens_before=planned.tokens.count,
            tokens_after=after,
            summary_tokens=summary_tokens,
            input_tokens=summary.input_tokens,
            output_tokens=summary.output_tokens,
            duration_ms=made.duration_ms,
            trigger=trigger,
            metadata=self._metadata(made, planned.tokens.how),
        )
        return given, outcome

    def _metadata(self, made: Made, how: How) -> dict[str, Any]:
        """What a later reader wants to know: the policy, how tokens were counted, calls, the memory flush."""
        chosen = {name: value for name, value in structs.asdict(self.policy).items() if value is not None}
        counted = {"before": how, "after": "estimated", "summary": "estimated"}
        told = {"policy": chosen, "tokens": counted, "calls": made.summary.calls}
        return told if made.flushed is None else {**told, "memory_flush": made.flushed}


def tokens_after(planned: Plan, summary: Summary, later: list[Record]) -> int:
    """The context afterwards: what it was, without what was taken out of it; roughly."""
    added = estimate(summary.text) + sum(estimate_rows(record.messages, record.calls) for record in later)
    stays = sum(estimate_turn(turn) for turn in planned.kept)
    taken = sum(estimate_turn(turn) for turn in planned.dropped) + estimate(planned.earlier)
    return max(planned.tokens.count - taken, stays) + added


def _refuse_nonsense(summary: Summary, planned: Plan, given: Policy) -> None:
    """One that is longer than what it stands for is no summary."""
    size = estimate(summary.text)
    stood_for = sum(estimate_turn(turn) for turn in planned.dropped) + estimate(planned.earlier)
    if size > _LONGER * given.limit_tokens:
        raise SummariserFailed(
            f"{summary.model} gave {size:,} tokens where {given.limit_tokens:,} were asked for: the session is as it "
            "was. Ask for a longer one (`--summary-tokens`), or another model"
        )
    if given.mode == "safeguard" and size >= stood_for + AROUND_A_MESSAGE:
        raise SummariserFailed(
            f"the summary of {summary.model} has {size:,} tokens, what it stands for {stood_for:,}: nothing would be "
            "gained, and the session is as it was"
        )


def _refuse_elsewhere(tx: Tx, label: str, head: str | None, planned: Plan) -> None:
    """A session may have gone on meanwhile; not back or to another branch, and nobody else has compacted it."""
    goes_on = head is not None and (head == planned.head or threads.is_ancestor(tx, planned.head, head))
    if goes_on and head is not None:
        newest = compact.newest(tx, head)
        goes_on = (None if newest is None else newest.turn_id) == planned.compaction_turn_id
    if not goes_on:
        raise HeadMoved(label, planned.head, head, None)


def _later(tx: Tx, head: str | None, planned: Plan) -> list[Record]:
    """The turns that came while the summary was made."""
    if head is None or head == planned.head:
        return []
    return spoken(tx, list(threads.path(tx, head, read_turn(tx, planned.head).depth + 1)))
