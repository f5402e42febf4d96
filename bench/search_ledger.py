"""A large made-up ledger to search in, and the queries that are asked."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agents_ledger import HEAD, Call, Env, Ledger, Message, Origin, Settings, Turn
from agents_ledger.capture.details import Details
from agents_ledger.capture.operations import Remember
from agents_ledger.ledger import append
from agents_ledger.ledger.build import prepare
from agents_ledger.ledger.bulk import Batch
from agents_ledger.model.ids import UlidSource
from agents_ledger.store import Tx
from bench.claude_texts import Texts
from bench.figures import Setup

_MESSAGES = 5  # of a turn
_TURNS = 100  # of a session
_BATCH = 500
_BEGUN = 1_750_000_000_000
_STEP_MS = 60_000
PROJECTS, ORIGINS = 40, ("claude-code", "codex", "cursor", "pi")


@dataclass(frozen=True)
class Large:
    """The ledger, and texts that stand in it."""

    path: Path
    texts: list[str]  # of some messages, all over it


def large_ledger(setup: Setup, messages: int) -> Large:
    """A ledger with so many messages, and a tool call for every five of them."""

    @contextmanager
    def make() -> Iterator[Large]:
        with setup.place() as folder:
            yield _filled(folder / "ledger.db", messages)

    return setup.once(f"search {messages}", make)


def _filled(path: Path, messages: int) -> Large:
    clock = _Clock()
    kept: list[str] = []
    with Ledger.open(f"sqlite:///{path}", env=Env(now=clock.now, new_id=clock.new_id)) as ledger:
        turns = _turns(messages // _MESSAGES, clock, kept)
        for batch in iter(lambda: list(islice(turns, _BATCH)), []):
            ledger.database.write(lambda tx, batch=batch: _put(tx, ledger.env, batch))  # type: ignore[misc]
            ledger.index()
        for number in range(messages // _MESSAGES // _TURNS):
            details = Details(f"session-{number}", project=f"/home/dev/project-{number % PROJECTS}")
            remember = Remember(details.session_label, details)
            ledger.database.write(lambda tx, remember=remember: remember(Batch(tx, ledger.env)))  # type: ignore[misc]
    return Large(path, kept)


def _put(tx: Tx, env: Env, batch: list[tuple[int, Turn]]) -> None:
    for number, turn in batch:
        session = number // _TURNS
        origin = Origin(origin=ORIGINS[session % len(ORIGINS)], origin_session_id=str(session))
        append.append(tx, env, f"session-{session}", prepare(turn, env), origin, HEAD)


def _turns(count: int, clock: "_Clock", kept: list[str]) -> Iterator[tuple[int, Turn]]:
    made, texts = random.Random(5), Texts(5)
    for number in range(count):
        clock.now_ms += _STEP_MS
        said = [texts.prose(made, made.randint(8, 70)) for _ in range(_MESSAGES)]
        messages = (
            Message("user", said[0], source="human"),
            *(Message("assistant", text, thinking=said[1] if at == 0 else None) for at, text in enumerate(said[1:])),
        )
        call = Call("Bash", {"command": texts.prose(made, 6)}, texts.code(made, 12))
        if number % 50 == 0:
            kept.append(said[2])
        yield number, Turn(messages, (call,), settings=Settings(model="model-1"))


class _Clock:
    """A minute for each turn."""

    def __init__(self) -> None:
        self.now_ms = _BEGUN
        self._ids = UlidSource()

    def now(self) -> int:
        """The time."""
        return self.now_ms

    def new_id(self, at_ms: int | None = None) -> str:
        """An id of it."""
        return self._ids(self.now_ms if at_ms is None else at_ms)
