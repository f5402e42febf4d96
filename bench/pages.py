"""Whether the last page of a list costs what the first does, and a replay begins before it has read all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents_ledger import Ledger, Message, Turn
from agents_ledger.model.rows import SessionRow
from agents_ledger.store import Tx
from bench.figures import Row, Setup, at_most, best, ms, seconds

_PAGE = 20
_ROUNDS = 9
_WORDS = "a few words that were said " * 40


def page_rows(setup: Setup) -> Iterator[Row]:
    """The last page against the first one: of sessions, of a long conversation; the first event of a replay."""
    many, depth = setup.pick(100_000, 10_000), setup.pick(5_000, 1_000)
    with setup.place() as folder, _filled(folder, many, depth) as ledger:
        lines = ledger.sessions(limit=1, after=(_PAGE * 2, ""))
        after = (lines[0].session.updated_at, lines[0].session.label)
        first, last = best(
            _ROUNDS,
            lambda: seconds(lambda: ledger.sessions(limit=_PAGE)),
            lambda: seconds(lambda: ledger.sessions(limit=_PAGE, after=after)),
        )
        yield at_most("pages", f"last page of {many:,} sessions", ms(last), f"{ms(first)} the first", last / first, 1.5)
        head = ledger.head("long") or ""
        end, start = best(
            _ROUNDS,
            lambda: seconds(lambda: ledger.thread(head, from_depth=depth - _PAGE + 1)),
            lambda: seconds(lambda: ledger.thread(head, from_depth=1, limit=_PAGE)),
        )
        name = f"last page of {depth:,} turns"
        yield at_most("pages", name, ms(end), f"{ms(start)} the first", end / start, 1.5)
        begun, whole = best(
            3,
            lambda: seconds(lambda: next(iter(ledger.replay(head)))),
            lambda: seconds(lambda: sum(1 for _ in ledger.replay(head))),
        )
        share = begun / whole * 100
        yield at_most("pages", "a replay's first event", ms(begun), f"{ms(whole)} the whole", share, 5, "%")


@contextmanager
def _filled(folder: Path, many: int, depth: int) -> Iterator[Ledger]:
    with Ledger.open(f"sqlite:///{folder / 'pages.db'}") as ledger:
        for number in range(depth):
            ledger.append("long", Turn((Message("user", f"{number} {_WORDS}"), Message("assistant", _WORDS))))

        def body(tx: Tx) -> None:
            tx.run_all("insert_session", (_session(number) for number in range(many)))

        ledger.database.write(body)
        yield ledger


def _session(number: int) -> SessionRow:
    return SessionRow(
        f"s{number:07}", None, "default", 0, None, None, None, None, None, None, None, None, number, number, "active"
    )
