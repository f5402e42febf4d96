"""Capture: the real `ldg sync` over folders of sessions, against agentsview on the same folders."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.children import Spent, spent
from bench.collectors import AgentsView, Collector, Ours, is_installed
from bench.corpora import Corpus, corpus_a, corpus_b, corpus_large, differences, expected
from bench.figures import Row, Setup, at_least, at_most

_PEAK_MB = 160
_STORED = 1.1  # of the size of the sources
_GROWTH = 1.15
_WALL_A, _CPU_A, _WALL_B, _CPU_B = 1.5, 1.5, 1.0, 3.0


@dataclass(frozen=True)
class Result:
    """What a collector made of a corpus."""

    cold: Spent
    again: Spent  # nothing has changed
    stored_bytes: int
    differences: tuple[str, ...] = ()

    def least(self, other: "Result") -> "Result":
        """The better of two rounds."""
        return Result(
            self.cold.least(other.cold),
            self.again.least(other.again),
            max(self.stored_bytes, other.stored_bytes),
            tuple(dict.fromkeys(self.differences + other.differences)),
        )


def capture_rows(setup: Setup) -> Iterator[Row]:
    """A corpus, one of ten times the size, and what the difference costs."""
    small, large = corpus_a(setup), corpus_b(setup)
    yield from _rows(small, _measured(setup, small, _collectors(), setup.pick(3, 2)), wall=_WALL_A, cpu=_CPU_A)
    # A once more before and after B: a machine that others use may be half as fast a few minutes later
    before = _measured(setup, small, [Ours()], 1)["ours"]
    once = _measured(setup, large, [Ours()], 1)["ours"]
    after = _measured(setup, small, [Ours()], 1)["ours"]
    results = {"ours": once} | _measured(setup, large, _collectors()[1:], 1)
    again = _measured(setup, large, _collectors(), 1)
    results = {name: known.least(again[name]) for name, known in results.items()}
    yield from _rows(large, results, wall=_WALL_B, cpu=_CPU_B)
    yield _growth(small, (before, after), large, once)


def _growth(small: Corpus, around: tuple[Result, Result], large: Corpus, result: Result) -> Row:
    rates = [each.cold.cpu_s * 1000 / small.megabytes for each in around]
    usual, rate = sum(rates) / len(rates), result.cold.cpu_s * 1000 / large.megabytes
    held = f"{rates[0]:.1f} ms before, {rates[1]:.1f} ms after, in A"
    name = f"B: CPU a MB, {large.megabytes / small.megabytes:.0f} x the size"
    return at_most("capture", name, f"{rate:.1f} ms", held, rate / usual, _GROWTH)


def large_rows(setup: Setup) -> Iterator[Row]:
    """One session of 2 GB. Needs a few minutes and 6 GB of disk, so it is run when it is asked for by name."""
    needed = setup.pick(6_000_000_000, 300_000_000)
    if (free := shutil.disk_usage(setup.folder).free) < needed:
        yield Row("large", "one transcript of 2 GB", "not run", f"{free / 1e9:.1f} GB free of {needed / 1e9:g} needed")
        return
    corpus = corpus_large(setup)
    with _collected(setup, corpus, Ours()) as result:
        yield from _own_rows("large", f"{corpus.megabytes / 1000:.2g} GB", corpus, result)
        speed = f"{corpus.megabytes / result.cold.wall_s:.1f} MB/s"
        yield Row("large", "one transcript, cold, wall", f"{result.cold.wall_s:.0f} s, {speed}", "")


def _collectors() -> list[Collector]:
    """Ours, and the other if it is here."""
    return [Ours(), AgentsView()] if is_installed() else [Ours()]


def _measured(setup: Setup, corpus: Corpus, collectors: list[Collector], rounds: int) -> dict[str, Result]:
    """Each collector, all of them in every round."""
    best: dict[str, Result] = {}
    for _ in range(rounds):
        for collector in collectors:
            with _collected(setup, corpus, collector) as result:
                known = best.get(collector.name)
                best[collector.name] = result if known is None else known.least(result)
    return best


@contextmanager
def _collected(setup: Setup, corpus: Corpus, collector: Collector) -> Iterator[Result]:
    with setup.place() as data:
        command, environ = collector.command(data), collector.environ(corpus.home, data)
        cold = spent(command, environ)
        stored = collector.stored_bytes(data)
        again = spent(command, environ)
        sessions = corpus.truth.sessions + corpus.truth.subagents
        assert collector.sessions(data) == sessions, f"{collector.name} has not collected {sessions} sessions"
        yield Result(cold, again, stored, _wrong(collector, data, corpus))


def _wrong(collector: Collector, data: Path, corpus: Corpus) -> tuple[str, ...]:
    return tuple(differences(data / "ledger.db", corpus.truth)) if collector.name == "ours" else ()


def _rows(corpus: Corpus, results: dict[str, Result], *, wall: float, cpu: float) -> Iterator[Row]:
    ours, theirs = results["ours"], results.get("agentsview")
    if theirs is None:
        yield Row("capture", f"{corpus.name}: against agentsview", "not installed: --group bench", "")
    else:
        yield from _against(corpus, ours, theirs, wall=wall, cpu=cpu)
    yield from _own_rows("capture", corpus.name, corpus, ours, theirs)


def _against(corpus: Corpus, ours: Result, theirs: Result, *, wall: float, cpu: float) -> Iterator[Row]:
    size, name = corpus.megabytes, corpus.name
    held = f"{_s(theirs.cold.wall_s)} agentsview"
    ratio = theirs.cold.wall_s / ours.cold.wall_s
    yield at_least("capture", f"{name}: {size:,.0f} MB, cold, wall", _s(ours.cold.wall_s), held, ratio, wall)
    mine, other = (f"{size / each.cold.cpu_s:.1f} MB/CPU s" for each in (ours, theirs))
    ratio = theirs.cold.cpu_s / ours.cold.cpu_s
    yield at_least("capture", f"{name}: cold, CPU", mine, f"{other} agentsview", ratio, cpu)
    held = f"{_s(theirs.again.wall_s)} agentsview"
    ratio = theirs.again.wall_s / ours.again.wall_s
    yield at_least("capture", f"{name}: nothing changed, wall", _s(ours.again.wall_s), held, ratio, 1.0)


def _own_rows(figure: str, name: str, corpus: Corpus, ours: Result, theirs: Result | None = None) -> Iterator[Row]:
    peak = ours.cold.peak_bytes / 1e6
    held = f"{_mb(theirs.cold.peak_bytes)} agentsview" if theirs else ""
    yield at_most(figure, f"{name}: peak memory", _mb(ours.cold.peak_bytes), held, peak, _PEAK_MB, "MB")
    stored, raw = ours.stored_bytes, corpus.truth.bytes
    held = f"{_mb(raw)} of sources" + (f", {_mb(theirs.stored_bytes)} agentsview" if theirs else "")
    yield at_most(figure, f"{name}: ledger on disk", _mb(stored), held, stored / raw, _STORED)
    wrong, counts = ours.differences, len(expected(corpus.truth))
    said = "; ".join(wrong)[:200] or "sessions, turns, calls, tokens, forks …"
    yield Row(
        figure, f"{name}: against the manifest", f"{len(wrong)} of {counts} wrong", said, target="0", ok=not wrong
    )


def _s(value: float) -> str:
    return f"{value:.2f} s"


def _mb(value: int) -> str:
    return f"{value / 1e6:,.1f} MB"
