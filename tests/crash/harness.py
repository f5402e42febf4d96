"""Forks writers, kills them with SIGKILL at a random moment, and looks at what they left behind."""

import os
import random
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from agents_ledger import Ledger
from agents_ledger.store.database import sqlite_path
from tests.crash.check import check
from tests.crash.processes import drain, forked
from tests.crash.writer import Task, write_until_killed

SOAK = os.environ.get("SOAK") == "1"
AUTOCHECKPOINTS = (1, 5, 20, 1000, 4000)  # pages; 4000 is the product's own
ROUNDS_PER_LEDGER = 8
_LONGEST_WAIT_S = 60.0


class Counts(Struct):
    """What a campaign did and found."""

    kills: int = 0
    rounds: int = 0
    acked: int = 0
    unacked: int = 0
    recovered: int = 0
    hot_wals: int = 0
    lost: int = 0
    torn: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name in self.__struct_fields__)


class Plan(Struct, frozen=True):
    """One campaign: so many kills, so many writers at a time."""

    kills: int
    writers: int
    seed: int
    longest_s: float = 0.060  # from the first acknowledgement to the kill
    only_append: bool = False
    plant: Callable[[], None] | None = None


class Broken(AssertionError):
    """Something that must hold after a kill did not."""

    def __init__(self, plan: Plan, counts: Counts, problems: list[str]) -> None:
        first = "\n  ".join(problems[:10])
        super().__init__(f"repeat with CRASH_SEED={plan.seed} ({plan.writers} writers; {counts})\n  {first}")
        self.counts = counts


def seed() -> int:
    """A new seed, or the one of a failure that is to be repeated (the plan is repeated, the scheduler is not)."""
    given = os.environ.get("CRASH_SEED")
    return int(given) if given else random.SystemRandom().getrandbits(32)


def campaign(plan: Plan, new_url: Callable[[], str]) -> Counts:
    """Rounds of writing and killing until the plan's kills are done; raises Broken at the first problem."""
    rng = random.Random(plan.seed)  # noqa: S311 - a repeatable plan
    counts = Counts()
    while counts.kills < plan.kills:
        _one_ledger(plan, rng, new_url(), counts)
    sys.stdout.write(f"\n{plan.writers} writers, seed {plan.seed}: {counts}\n")
    return counts


def _one_ledger(plan: Plan, rng: random.Random, url: str, counts: Counts) -> None:
    acked: set[str] = set()
    known: set[str] = set()
    kills = 0
    for _ in range(ROUNDS_PER_LEDGER):
        if counts.kills >= plan.kills:
            break
        acked |= _round(plan, rng, url)
        kills += plan.writers
        counts.kills += plan.writers
        counts.rounds += 1
        counts.hot_wals += _is_hot(url)
        is_last = counts.kills >= plan.kills
        if rng.random() < 0.2 and not is_last:
            continue  # the next round's writers meet what is left, and recover while they are killed
        known = _look(plan, url, counts, acked, kills, known)
    _look(plan, url, counts, acked, kills, known)
    counts.acked += len(acked)


def _look(plan: Plan, url: str, counts: Counts, acked: set[str], kills: int, known: set[str]) -> set[str]:
    with Ledger.open(url) as ledger:
        # A server may still be at the last commit of a client that is gone: our place in its queue comes after it.
        ledger.database.write(lambda _: None)
        ledger.recover()
        found = check(ledger, acked, kills, known)
    counts.recovered += len(found.recovered - known)
    counts.unacked += len(found.turns - acked - found.recovered - known)
    counts.lost += len(found.lost)
    counts.torn += len(found.problems)
    if found.lost or found.problems:
        raise Broken(plan, counts, [*(f"acknowledged, but lost: {turn}" for turn in found.lost), *found.problems])
    return found.turns


def _round(plan: Plan, rng: random.Random, url: str) -> set[str]:
    """Starts the writers, kills them, gives what they had acknowledged."""
    reading, writing = os.pipe()
    autocheckpoint = rng.choice(AUTOCHECKPOINTS)
    tasks = [
        Task(url, number, rng.getrandbits(32), autocheckpoint, plan.only_append, plan.plant)
        for number in range(plan.writers)
    ]
    children = [forked(partial(write_until_killed, task), reading, writing) for task in tasks]
    os.close(writing)
    got = b""
    if rng.random() >= 0.1:  # else it happens while they open (or make) the ledger
        got, _ = drain(reading, _LONGEST_WAIT_S, until_first=True)
    got += drain(reading, rng.uniform(0.001, plan.longest_s))[0]
    for child in children:
        os.kill(child, signal.SIGKILL)
    ends = [os.waitpid(child, 0)[1] for child in children]
    got += drain(reading, _LONGEST_WAIT_S)[0]
    os.close(reading)
    text = got.decode()
    assert all(os.WIFSIGNALED(end) for end in ends), f"a writer ended by itself:\n{text[-4000:]}"
    assert text.endswith("\n") or not text, "an acknowledgement is one atomic write"
    return set(text.split())


def _is_hot(url: str) -> bool:
    """Whether the writers left a write-ahead log behind (looked at by name: nobody but SQLite opens it)."""
    if url.startswith("postgresql"):
        return False
    wal = Path(f"{sqlite_path(url)}-wal")
    return wal.exists() and wal.stat().st_size > 0
