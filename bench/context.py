"""The context of a long thread with a compaction near its end: what of it is read, counted and not timed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import apsw

from agents_ledger import Ledger, Message, Turn
from agents_ledger.ledger import append, sessions
from agents_ledger.ledger import context as contexts
from agents_ledger.ledger.build import prepare
from agents_ledger.ledger.tokens import count
from agents_ledger.store import Tx
from bench.figures import Row, Setup, at_most
from bench.ours import finished, open_ledger
from bench.workload import turns_of

_KEPT, _LATER, _FEW = 5, 3, 20
_CONTENT = ("messages_of", "calls_of")
_BATCH = 500


@dataclass(frozen=True)
class Read:
    """What was read for one context."""

    rows: int
    pages: int
    turns: set[str]  # whose messages or calls were read


class Counted(Tx):
    """A transaction that counts what it is given."""

    def __init__(self, inner: Tx) -> None:
        self._inner = inner
        self.rows_read = 0
        self.turns: set[str] = set()

    def run(self, name: str, /, **params: Any) -> None:
        self._inner.run(name, **params)

    def run_all(self, name: str, values: Any) -> None:
        self._inner.run_all(name, values)

    def each(self, name: str, /, **params: Any) -> Any:
        for row in self._inner.each(name, **params):
            self.rows_read += 1
            if name in _CONTENT:
                self.turns.add(row[1])
            yield row


def context_rows(setup: Setup) -> Iterator[Row]:
    """Rows and pages for a long thread, against one of twenty turns with the same end."""
    length = setup.pick(10_000, 1_000)
    with setup.place() as folder:
        with open_ledger(folder) as ledger:
            # (the first one has the system prompt, which is part of every context)
            summarised = set(_write(ledger, "long", length)[1:-_KEPT])
            _write(ledger, "short", _FEW)
        long, short = (_read(f"sqlite:///{folder / 'ledger.db'}", label) for label in ("long", "short"))
    name = f"{length:,} turns, the last {_KEPT} kept"
    touched = len(long.turns & summarised)
    yield at_most("context", "summarised turns that are read", str(touched), "", touched, 0, "turns")
    yield at_most("context", f"rows, {name}", f"{long.rows} rows", f"{short.rows} of {_FEW}", long.rows / short.rows, 1)
    ratio = long.pages / short.pages  # (the B-trees are deeper)
    yield at_most("context", f"pages, {name}", f"{long.pages} pages", f"{short.pages} of {_FEW}", ratio, 2)


def _write(ledger: Ledger, label: str, length: int) -> list[str]:
    """A thread whose first turn has the system prompt, compacted, with a few turns behind the compaction."""
    small = [finished(turn) for turn in turns_of(120, 100, steps=2)]
    ids = [ledger.append(label, Turn(messages=(Message("system", "Be brief."), Message("user", "Begin."))))]
    while len(ids) < length:
        some = [small[at % len(small)] for at in range(min(_BATCH, length - len(ids)))]
        ids += ledger.database.write(partial(_append_all, ledger, label, some))
    ledger.compact(label, "What was said before.", keep=_KEPT)
    for turn in small[:_LATER]:
        ledger.append(label, turn)
    return ids


def _append_all(ledger: Ledger, label: str, turns: list[Turn], tx: Tx) -> list[str]:
    origin = sessions.Origin()
    return [append.append(tx, ledger.env, label, prepare(turn, ledger.env), origin) for turn in turns]


def _read(url: str, label: str) -> Read:
    """What a connection that has read nothing yet reads for the context of a session's head."""
    with Ledger.open(url, readonly=True) as ledger:
        head = ledger.find(label)
        with ledger.database.read() as inner:
            connection: apsw.Connection = inner.connection  # type: ignore[attr-defined]  # of an SQLite snapshot
            before = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
            tx = Counted(inner)
            seen = contexts.assemble(tx, head)
            count(tx, seen)
            pages = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] - before
    assert seen.summary == "What was said before."
    assert len(seen.turns) == _KEPT + _LATER
    return Read(tx.rows_read, pages, tx.turns)
