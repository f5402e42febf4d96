"""What the promises of a durable turn cost: the same turns without one of them, then without all.

Figures without a target: what a promise less would give, and what the disk, SQLite's tables and Python take anyway.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from unittest.mock import patch

from agents_ledger import Ledger, Turn
from agents_ledger.ledger import search
from agents_ledger.model import hashes
from bench.durable import CHAT, CODING
from bench.figures import Row, Setup, best, seconds
from bench.ours import finished, open_ledger

LeaveOut = Callable[[Ledger, ExitStack], object]


def budget_rows(setup: Setup) -> Iterator[Row]:
    """Microseconds of a turn, promise by promise."""
    for shape in (CHAT, CODING):
        turns = [finished(turn) for turn in shape.turns(setup.pick(600, 150))]
        runs = [[], *([promise] for promise in _PROMISES.values()), list(_PROMISES.values())]
        everything, *singles, nothing = best(setup.pick(7, 2), *(partial(_run, setup, turns, run) for run in runs))
        whole = f"{everything * 1e6:.0f} µs {shape.name}"
        for name, took in zip(_PROMISES, singles, strict=True):
            saved = everything - took
            yield Row("budget", name, f"{saved * 1e6:.0f} µs", whole, saved / everything)
        yield Row("budget", "tables, disk and Python", f"{nothing * 1e6:.0f} µs", whole, nothing / everything)


def _run(setup: Setup, turns: list[Turn], leave_out: list[LeaveOut]) -> float:
    """Seconds a turn."""
    with setup.place() as folder, open_ledger(folder) as ledger, ExitStack() as until_end:
        for promise in leave_out:
            promise(ledger, until_end)

        def write() -> None:
            for turn in turns:
                ledger.append("session-0", turn)
            if _no_index not in leave_out:
                ledger.index()

        return seconds(write) / len(turns)


def _no_guards(ledger: Ledger, _: ExitStack) -> None:
    guards = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%RAISE(ABORT%'"
    for (name,) in ledger.database.ask(guards):
        ledger.database.ask(f"DROP TRIGGER {name}")


def _no_foreign_keys(ledger: Ledger, _: ExitStack) -> None:
    ledger.database.ask("PRAGMA foreign_keys=OFF")


def _no_face_ids(ledger: Ledger, _: ExitStack) -> None:
    for name in ("idx_messages_face", "idx_tool_calls_face"):
        ledger.database.ask(f"DROP INDEX {name}")


def _no_index(_: Ledger, until_end: ExitStack) -> None:
    until_end.enter_context(patch.object(search, "BATCH", 1 << 30))


def _no_hashes(_: Ledger, until_end: ExitStack) -> None:
    empty = bytes(32)
    until_end.enter_context(patch.object(hashes, "commit_all", lambda found, _: [empty] * len(found)))
    until_end.enter_context(patch.object(hashes, "turn_hash", lambda *_: empty))


def _no_sync(ledger: Ledger, _: ExitStack) -> None:
    ledger.database.ask("PRAGMA synchronous=OFF")


_PROMISES: dict[str, LeaveOut] = {
    "its words are found": _no_index,
    "nobody changes it, also by plain SQL": _no_guards,
    "references are kept": _no_foreign_keys,
    "it is found by its agent's ids": _no_face_ids,
    "its content is proved (hashes)": _no_hashes,
    "it is on the disk (one sync)": _no_sync,
}
