"""Reading a million messages: sums of tokens, pages of the timeline and of sessions; and ccusage on A and B."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import apsw

from agents_ledger import Ledger
from agents_ledger.ledger import stats, timeline
from agents_ledger.model.filters import Filters
from bench.children import spent
from bench.corpora import Corpus, corpus_a, corpus_b
from bench.figures import Row, Setup, at_least, at_most, best, ms, seconds
from bench.million import Million, million
from oracles.install import JUDGES, NODE, missing

_SUMS = 1.2  # times the plain GROUP BY
_PAGES = 1.3  # the last page against the first
_FEED = 0.05  # of the time that a turn takes
_COLUMNS = "input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, total_tokens"


def stats_rows(setup: Setup) -> Iterator[Row]:
    """A million messages, then corpora A and B."""
    with million(setup) as made:
        count = f"{made.turns * 5:,} messages"
        yield from _sum_rows(setup, made, count)
        yield from _page_rows(setup, made, count)
    for corpus, target in ((corpus_a(setup), 1.0), (corpus_b(setup), 1.0)):
        yield from _against_ccusage(setup, corpus, target)


def _sum_rows(setup: Setup, made: Million, count: str) -> Iterator[Row]:
    with setup.place() as folder:
        plain = _plain(folder, made.path)
        kept = folder / "prices.json"
        ours = stats.tokens(made.ledger.database, by=("day", "model"), zone=UTC, prices_kept_in=kept)
        theirs = _grouped(plain)
        mine = {line.key: (line.sums.calls, line.sums.total_tokens) for line in ours.lines}
        assert mine == {(day, model): (calls, sums[-1]) for day, model, calls, *sums in theirs}, "other sums"
        took, floor = best(
            setup.pick(7, 5),
            lambda: seconds(
                lambda: stats.tokens(made.ledger.database, by=("day", "model"), zone=UTC, prices_kept_in=kept)
            ),
            lambda: seconds(lambda: _grouped(plain)),
        )
        plain.close()
    held = f"{ms(floor)} GROUP BY, covering index"
    yield at_most("stats", f"tokens by day and model, {count}", ms(took), held, took / floor, _SUMS)
    feed, turn = made.summed_s / made.turns, made.written_s / made.turns
    held = f"{turn * 1e6:.0f} us to write a turn, without a sync"
    yield at_most("stats", "summing up, a turn", f"{feed * 1e6:.1f} us", held, feed / turn, _FEED)


def _plain(folder: Path, ledger: Path) -> apsw.Connection:
    """The same rows in a table of their own, with an index that has everything."""
    connection = apsw.Connection(str(folder / "plain.db"))
    connection.execute(f"ATTACH '{ledger}' AS ledger")
    connection.execute(f"CREATE TABLE used AS SELECT at, model, {_COLUMNS} FROM ledger.usages")  # noqa: S608
    connection.execute(f"CREATE INDEX covering ON used(at, model, {_COLUMNS}); DETACH ledger")
    return connection


def _grouped(plain: apsw.Connection) -> list[tuple[object, ...]]:
    sums = ", ".join(f"sum({name.strip()})" for name in _COLUMNS.split(","))
    what = f"date(at / 1000, 'unixepoch') AS day, model, count(*), {sums}"
    return plain.execute(f"SELECT {what} FROM used INDEXED BY covering GROUP BY 1, 2").fetchall()  # noqa: S608


def _page_rows(setup: Setup, made: Million, count: str) -> Iterator[Row]:
    database = made.ledger.database
    last = _nth_turn(made.path, 60)
    first_s, last_s = best(
        setup.pick(50, 20),
        lambda: seconds(lambda: timeline.page(database, limit=50)),
        lambda: seconds(lambda: timeline.page(database, before=last, limit=50)),
    )
    yield at_most(
        "stats", f"timeline, last page, {count}", ms(last_s), f"{ms(first_s)} first page", last_s / first_s, _PAGES
    )
    cursor = _nth_session(made.ledger, 60)
    first_s, last_s = best(
        setup.pick(50, 20),
        lambda: seconds(lambda: made.ledger.sessions(limit=50)),
        lambda: seconds(lambda: made.ledger.sessions(limit=50, after=cursor)),
    )
    yield at_most("stats", "sessions, last page", ms(last_s), f"{ms(first_s)} first page", last_s / first_s, _PAGES)
    wanted = Filters(project="project-7", origin="pi")
    took = min(seconds(lambda: timeline.page(database, wanted, limit=50)) for _ in range(5))
    yield Row("stats", "timeline of one project in 200", ms(took), "")


def _nth_turn(path: Path, number: int) -> str:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return str(connection.execute("SELECT id FROM turns ORDER BY id LIMIT 1 OFFSET ?", (number,)).get)
    finally:
        connection.close()


def _nth_session(ledger: Ledger, number: int) -> tuple[int, str]:
    """The cursor with so many sessions behind it."""
    line = ledger.sessions(limit=1_000_000)[-number - 1]
    return line.session.updated_at, line.session.label


def _against_ccusage(setup: Setup, corpus: Corpus, target: float) -> Iterator[Row]:
    name = f"{corpus.name}: sync + stats, wall"
    if why := missing("ccusage"):
        yield Row("stats", name, "not run", why)
        return
    with setup.place() as data:
        ldg = [str(Path(sys.executable).with_name("ldg")), "--db", str(data / "ledger.db")]
        environ = {"HOME": str(corpus.home), "XDG_CACHE_HOME": str(data / "cache"), "TZ": "UTC"}
        judge = [str(NODE), str(JUDGES["ccusage"].file), "claude", "daily", "--json", "--offline"]
        spent([*ldg, "sync"], environ)
        ours, theirs = _totals([*ldg, "stats", "--json"], environ), _ccusage_totals(judge, environ)
        looked, told, both, whole = best(
            setup.pick(7, 3),
            lambda: spent([*ldg, "sync"], environ).wall_s,
            lambda: spent([*ldg, "stats"], environ).wall_s,
            lambda: spent([*ldg, "stats", "--sync"], environ).wall_s,
            lambda: spent(judge, environ).wall_s,
        )
    mine = f"{ms(looked)} + {ms(told)}"
    yield at_least("stats", name, mine, f"{ms(whole)} ccusage", whole / (looked + told), target)
    name = f"{corpus.name}: stats --sync, wall"
    yield Row("stats", name, ms(both), f"{ms(whole)} ccusage", whole / both)
    yield Row(
        "stats", f"{corpus.name}: totals", _short(ours), f"{_short(theirs)} ccusage", target="equal", ok=ours == theirs
    )


def _totals(command: list[str], environ: dict[str, str]) -> tuple[int, ...]:
    done = subprocess.run(command, env=environ, check=True, capture_output=True)
    total = json.loads(done.stdout)["total"]
    names = ("input_tokens", "output_tokens", "cache_write_tokens", "cached_input_tokens")
    return tuple(total[name] for name in names)


def _ccusage_totals(command: list[str], environ: dict[str, str]) -> tuple[int, ...]:
    done = subprocess.run(command, env=environ, check=True, capture_output=True)
    total = json.loads(done.stdout)["totals"]
    return tuple(total[name] for name in ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens"))


def _short(totals: tuple[int, ...]) -> str:
    return " ".join(f"{value:,}" for value in totals)
