"""Prepared trees: a path of 10,000 turns over 100 segments, and 1,000 sessions on a common trunk."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from agents_ledger import Ledger
from bench.figures import Setup
from bench.ours import finished, open_ledger
from bench.workload import turns_of

FORK_EVERY = 100
OWN_TURNS = 10
_TRUNK = 100


@dataclass(frozen=True)
class Tree:
    """A ledger, a second connection for plain SQL, and the ids of the main path."""

    ledger: Ledger
    plain: apsw.Connection
    path: list[str]


@contextmanager
def deep(setup: Setup, depth: int) -> Iterator[Tree]:
    """One session of many turns; the path leaves its segment every 100 turns."""
    small = [finished(turn) for turn in turns_of(120, FORK_EVERY, steps=2)]
    with _opened(setup) as (ledger, plain):
        path: list[str] = []
        while len(path) < depth:
            path += [ledger.append("deep", turn) for turn in small]
            ledger.branch(path[-1], small[0])  # takes the next place: the path goes on in a new segment
        yield Tree(ledger, plain, path)


@contextmanager
def wide(setup: Setup, sessions: int) -> Iterator[Tree]:
    """A trunk, and sessions that leave its second half, each with ten turns of its own."""
    small = [finished(turn) for turn in turns_of(120, OWN_TURNS, steps=2)]
    with _opened(setup) as (ledger, plain):
        trunk = [ledger.append("trunk", small[n % OWN_TURNS]) for n in range(_TRUNK)]
        for number in range(sessions):
            fork = ledger.fork(trunk[_TRUNK // 2 + number % (_TRUNK // 2)])
            for turn in small:
                ledger.append(fork.label, turn)
        yield Tree(ledger, plain, trunk)


@contextmanager
def _opened(setup: Setup) -> Iterator[tuple[Ledger, apsw.Connection]]:
    with setup.place() as folder, open_ledger(folder) as ledger:
        plain = _plain(folder)
        yield ledger, plain
        plain.close()


def _plain(folder: Path) -> apsw.Connection:
    return apsw.Connection(str(folder / "ledger.db"), flags=apsw.SQLITE_OPEN_READONLY)
