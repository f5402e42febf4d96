"""What a writer process does until it is killed: whole turns, each acknowledged after the ledger returned."""

import json
import os
import random
from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct

from agents_ledger import Call, Ledger, Message, Turn, Usage
from agents_ledger.errors import HeadMoved
from agents_ledger.ledger import sessions
from agents_ledger.ledger.live import LiveTurn
from agents_ledger.store.sqlite import SqliteDatabase

SHARED = "shared"
_MARK = " sha256:"
_DIGEST = 16


class Task(Struct, frozen=True):
    """What one writer is told."""

    url: str
    number: int
    seed: int
    autocheckpoint: int
    only_append: bool = False
    plant: Callable[[], None] | None = None


def write_until_killed(task: Task, acks: int) -> None:
    """Opens the ledger and writes; gives the id of each turn to the pipe, once the ledger has said that it is kept."""
    rng = random.Random(task.seed)  # noqa: S311 - a repeatable plan
    if task.plant is not None:
        task.plant()
    ledger = Ledger.open(task.url)
    if isinstance(ledger.database, SqliteDatabase):
        ledger.database.ask(f"PRAGMA wal_autocheckpoint={task.autocheckpoint}")
    while True:
        kept = _append(ledger, task, rng) if task.only_append or rng.random() < 0.5 else _live(ledger, task, rng)
        if kept is not None:
            os.write(acks, f"{kept}\n".encode())


def stamped(text: str) -> str:
    """A text that carries its own checksum."""
    return f"{text}{_MARK}{sha256(text.encode()).hexdigest()[:_DIGEST]}"


def is_whole(text: str | None) -> bool:
    """Whether every line is what it was stamped as."""
    lines = (text or "").split("\n")
    return all(line == stamped(line.rpartition(_MARK)[0]) for line in lines)


def planned(text: str) -> tuple[int, int]:
    """How many messages and calls a turn's first message says that the whole turn has."""
    plan = json.loads(text.rpartition(_MARK)[0])
    return plan["messages"], plan["calls"]


def _append(ledger: Ledger, task: Task, rng: random.Random) -> str | None:
    answers, calls = rng.randint(1, 3), rng.randint(0, 3)
    turn = Turn(
        messages=(
            Message("user", _query(rng, 1 + answers, calls)),
            *(Message("assistant", _text(rng), thinking=_text(rng)) for _ in range(answers)),
        ),
        calls=tuple(Call("Read", _text(rng), result=_text(rng)) for _ in range(calls)),
        usage=Usage(input=rng.randint(0, 9999), output=rng.randint(0, 99)),
    )
    if task.only_append or rng.random() < 0.6:
        return ledger.append(f"own-{task.number}", turn)
    try:
        return ledger.append(SHARED, turn, expect=_shared_head(ledger))
    except HeadMoved as conflict:
        return conflict.turn_id  # None: an append that loses writes nothing (an id would be looked for)


def _live(ledger: Ledger, task: Task, rng: random.Random) -> str:
    streams, calls = rng.random() < 0.5, rng.randint(0, 2)
    session = f"own-{task.number}" if rng.random() < 0.6 else SHARED
    turn = ledger.turn(session, _query(rng, 3 if streams else 2, calls), model="m", tools=["Shell"])
    try:
        with turn:
            _work(turn, rng, calls=calls, streams=streams)
    except HeadMoved as conflict:
        return conflict.turn_id or "lost"  # a live turn that loses is kept as a branch
    return turn.id


def _work(turn: LiveTurn, rng: random.Random, *, calls: int, streams: bool) -> None:
    for index in range(calls):
        call = turn.call("Shell", _text(rng))
        if index == 0 and rng.random() < 0.1:
            call.spawn(f"sub-{turn.id}", "look around")
        if rng.random() < 0.8:
            call.complete(_text(rng))
        else:
            call.fail(stamped("it did not work"))
    if streams:
        for number in range(rng.randint(2, 5)):
            text = stamped("word " * rng.randint(1, 1200))
            turn.stream(text if number == 0 else f"\n{text}")
        turn.reply()
    turn.reply(_text(rng), thinking=_text(rng), usage=Usage(input=7, output=3))


def _shared_head(ledger: Ledger) -> str | None:
    with ledger.database.read() as tx:
        session = sessions.resolve(tx, SHARED)
    return None if session is None else session.thread_id


def _query(rng: random.Random, messages: int, calls: int) -> str:
    return stamped(json.dumps({"messages": messages, "calls": calls, "pad": "q" * rng.randint(0, 200)}))


def _text(rng: random.Random) -> str:
    return stamped("a" * rng.choice((3, 40, 400, 6000)))
