"""Random histories of saves, forks and rewinds agree with a few dictionaries."""

import json
import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents_ledger import Ledger
from agents_ledger.errors import AlreadySaved, ContentDiffers, LedgerError, NotFound, StaleSave, TurnIsSealed
from agents_ledger.faces.agent_os import Bus
from agents_ledger.ledger import search
from tests.faces.agent_os.conversation import AT, Speaker
from tests.support.places import new_folder

EXAMPLES = 2_000 if os.environ.get("SOAK") else 40
TASKS, MESSAGES, CALLS = ("t", "u"), tuple(f"m{n}" for n in range(8)), ("c", "d", "e")
ROLES = ("user", "assistant", "system")
times = st.integers(AT, AT + 5)
steps = st.one_of(
    st.tuples(st.just("task"), st.sampled_from(TASKS), st.sampled_from([None, "success", "failed"]), times),
    st.tuples(
        st.just("message"), st.sampled_from(TASKS), st.sampled_from(MESSAGES), st.sampled_from(ROLES)
    ),
    st.tuples(
        st.just("call"), st.sampled_from(TASKS), st.sampled_from(CALLS), st.sampled_from(MESSAGES),
        st.sampled_from(["pending", "in_progress", "completed", "failed"]), times,
    ),
    st.tuples(st.just("fork"), st.sampled_from(TASKS)),
    st.tuples(st.just("rewind"), st.sampled_from(TASKS)),
)  # fmt: skip


class Model:
    """What was saved, as plain values."""

    def __init__(self) -> None:
        self.states: dict[str, list[tuple[str | None, int]]] = {}
        self.messages: dict[str, tuple[str, str]] = {}
        self.call_facts: dict[str, tuple[str, str]] = {}

    def save(self, ref: str, status: str | None, at: int) -> None:
        states = self.states.setdefault(ref, [])
        if not states or states[-1] != (status, at):
            states.append((status, at))

    def open(self, names: tuple[str, ...], words: tuple[str | None, ...]) -> set[str]:
        return {ref for ref in names if ref in self.states and self.states[ref][-1][0] in words}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=5, max_size=40))
def test_any_history_is_kept(history: list[tuple[Any, ...]]) -> None:
    with new_folder() as folder, Ledger.open(f"sqlite:///{folder / 'l.db'}") as ledger:
        speaker, model = Speaker(Bus(ledger)), Model()
        task(speaker, model, "t", None, AT)
        message(speaker, model, "t", "m0", "user")
        for step in history:
            RULES[step[0]](speaker, model, *step[1:])
        agree(speaker, model)


def task(speaker: Speaker, model: Model, name: str, status: str | None, at: int) -> None:
    is_stale = name in model.states and model.states[name][-1][1] > at
    refused = tried(lambda: speaker.task(name, systemPrompt="", completionStatus=status, updatedAt=at))
    assert type(refused) is (StaleSave if is_stale else type(None))
    if refused is None:
        model.save(name, status, at)


def message(speaker: Speaker, model: Model, name: str, message_id: str, role: str) -> None:
    refused = tried(lambda: speaker.message(message_id, role, f"word{message_id}", taskId=name))
    expected = NotFound if name not in model.states else AlreadySaved if message_id in model.messages else type(None)
    assert type(refused) is expected
    if refused is None:
        model.messages[message_id] = (name, role)


def call(speaker: Speaker, model: Model, name: str, call_id: str, start: str, status: str, at: int) -> None:
    facts = {"taskId": name, "startMessageId": start, "updatedAt": at, "details": json.dumps(f"call{call_id} {status}")}
    refused = tried(lambda: speaker.call(call_id, status, **facts))
    known = model.states.get(call_id)
    if name not in model.states or (known is None and start not in model.messages):
        assert isinstance(refused, NotFound)
    elif known is not None and model.call_facts[call_id] != (name, start):
        assert isinstance(refused, ContentDiffers)
    elif known is not None and known[-1][1] > at:
        assert isinstance(refused, StaleSave)
    elif known is not None and known[-1][0] in ("completed", "failed") and status != known[-1][0]:
        assert refused is None or isinstance(refused, TurnIsSealed)  # by whether its turn is finished
    else:
        assert refused is None
    if refused is None:
        model.call_facts[call_id] = (name, start)
        model.save(call_id, status, at)


def fork(speaker: Speaker, model: Model, name: str) -> None:
    ledger = speaker.bus.ledger
    head = ledger.head(name) if name in model.states else None
    if head is not None:
        tried(lambda: ledger.fork(head))  # not while a call is open


def rewind(speaker: Speaker, model: Model, name: str) -> None:
    ledger = speaker.bus.ledger
    head = ledger.head(name) if name in model.states else None
    if head is not None and len(ledger.ancestry(head)) > 1:
        ledger.rewind(name, turns=1)


def agree(speaker: Speaker, model: Model) -> None:
    ledger = speaker.bus.ledger
    assert ledger.verify().findings == []
    for name in TASKS:
        _, rows = ledger.database.query(f"SELECT id, role FROM task_messages WHERE task_id = '{name}'")  # noqa: S608
        assert sorted(rows) == sorted((ref, role) for ref, (owner, role) in model.messages.items() if owner == name)
    for ref, states in model.states.items():
        ability, key = ("ldg:call:history", "callId") if ref in CALLS else ("ldg:task:history", "taskId")
        kept = speaker.ask(ability, **{key: ref})["states"]
        assert [(each.get("status", each.get("completionStatus")), each["updatedAt"]) for each in kept] == states
    unfinished = model.open(TASKS, (None,)), model.open(CALLS, ("pending", "in_progress"))
    assert tuple(map(set, speaker.unfinished())) == unfinished
    ledger.index()
    with ledger.database.read() as tx:
        found = [len(search.matching(tx, f"word{message_id}")) for message_id in model.messages]
        assert found == [1] * len(model.messages)
        assert {len(search.matching(tx, f"call{ref}")) for ref in model.call_facts} <= {1}


def tried(work: Callable[[], object]) -> LedgerError | None:
    try:
        work()
    except LedgerError as problem:
        return problem
    return None


RULES: dict[str, Callable[..., None]] = {
    "task": task, "message": message, "call": call, "fork": fork, "rewind": rewind,
}  # fmt: skip
