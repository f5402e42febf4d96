"""A ledger of a million messages: sessions of a year, written by the ledger's own steps, many turns in a commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents_ledger import Call, Ledger, Message, Origin, Settings, Turn, Usage
from agents_ledger.ledger import append, usage
from agents_ledger.ledger.build import prepare
from agents_ledger.model.entries import ModelCall
from agents_ledger.model.ids import derived
from agents_ledger.store import Tx
from bench.figures import Setup, seconds
from bench.ours import open_ledger

TURNS = 40  # of a session
MESSAGES = 5  # of a turn
PROJECTS = 200
_BEGIN = 1_735_689_600_000  # 2025-01-01
_YEAR = 365 * 86_400_000
_MODELS = ("claude-opus-4-1-20250805", "claude-sonnet-4-5", "gpt-5-codex", "gpt-5.2-codex")
_ORIGINS = ("claude-code", "codex", "pi", "cursor", "openclaw")


@dataclass(frozen=True)
class Million:
    """The ledger, where it is, and what its sums of tokens took."""

    ledger: Ledger
    path: Path
    turns: int
    written_s: float
    summed_s: float


@contextmanager
def million(setup: Setup) -> Iterator[Million]:
    """1,000,000 messages in 200,000 turns of 5,000 sessions."""
    sessions = setup.pick(5000, 250)
    with setup.place() as folder, open_ledger(folder) as ledger:
        written = sum(seconds(lambda at=at: _write(ledger, sessions, at)) for at in range(0, sessions, 10))  # type: ignore[misc]
        summed = seconds(lambda: _sum_up(ledger))
        yield Million(ledger, folder / "ledger.db", sessions * TURNS, written, summed)


def _write(ledger: Ledger, sessions: int, first: int) -> None:
    def body(tx: Tx) -> None:
        for number in range(first, min(first + 10, sessions)):
            label, origin = f"session-{number}", Origin(origin=_ORIGINS[number % 5], origin_session_id=str(number))
            for turn in range(TURNS):
                given = _turn(number, turn, _BEGIN + number * (_YEAR // sessions) + turn * 120_000)
                append.append(tx, ledger.env, label, prepare(given, ledger.env), origin)

    ledger.database.write(body)


def _sum_up(ledger: Ledger) -> None:
    """As it is done batch after batch while turns come in."""
    last = ledger.counts()["seq"]
    while True:
        with ledger.database.read() as tx:
            if usage.counted_through(tx) == last:
                return
        ledger.database.write(usage.catch_up)


def _turn(number: int, turn: int, at: int) -> Turn:
    words = (
        f"Look at module {turn} of {number} again.",
        "I will read it.",
        "It is here.",
        "Mended.",
        "Done: all is well.",
    )
    roles = ("user", "assistant", "assistant", "assistant", "assistant")
    model = _MODELS[(number + turn // 10) % 4]
    used = Usage(input=100 + turn, output=40, cached=900 * turn, cache_write=300, reasoning=7)
    calls = tuple(ModelCall(used, model, "bench", at + 20_000 * n, f"{number}/{turn}/{n}") for n in range(2))
    return Turn(
        messages=tuple(Message(role, text, created_at=at) for role, text in zip(roles, words, strict=True)),
        calls=(Call("Edit", {"file_path": f"src/{turn}.py"}, "ok", started_at=at, completed_at=at + 90),),
        usage=used + used,
        settings=Settings(model=model, provider="bench", workspace_path=f"/home/dev/project-{number % PROJECTS}"),
        started_at=at,
        completed_at=at + 60_000,
        id=derived(at, number, turn),
        model_calls=calls,
    )
