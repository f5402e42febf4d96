"""Search: the ledger's own against raw FTS5 on the same table."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import exp, log

import apsw

from agents_ledger import Ledger
from bench.figures import Row, Setup, at_most, ms
from bench.search_ledger import Large, large_ledger

_LIMIT = 20
_TARGET = 1.5
_WORD = re.compile(r"[a-z]{3,}")
# what somebody writes who has only this table: the best twenty, with turn and snippet
_RAW = (
    "SELECT coalesce(m.turn_id, c.turn_id), snippet(search, -1, '[', ']', '…', 24) FROM search "
    "LEFT JOIN messages m ON m.n = search.rowid LEFT JOIN tool_calls c ON c.n = search.rowid "
    "WHERE search MATCH ? ORDER BY search.rank LIMIT 20"
)
_RAW_WHERE = (
    "SELECT t.id, snippet(search, -1, '[', ']', '…', 24) FROM search "
    "LEFT JOIN messages m ON m.n = search.rowid LEFT JOIN tool_calls c ON c.n = search.rowid "
    "CROSS JOIN turns t ON t.id = coalesce(m.turn_id, c.turn_id) "
    "JOIN session_details d ON d.session_label = t.session_label "
    "WHERE search MATCH ? AND d.project = '/home/dev/project-7' ORDER BY search.rank LIMIT 20"
)
Query = tuple[str, str, str]  # ours, FTS5's, the statement


def search_rows(setup: Setup) -> Iterator[Row]:
    """One word, two, a phrase, a beginning, under a filter: p50 and p99."""
    size = setup.pick(1_000_000, 50_000)
    large = large_ledger(setup, size)
    raw = apsw.Connection(str(large.path), flags=apsw.SQLITE_OPEN_READONLY)
    with Ledger.open(f"sqlite:///{large.path}", readonly=True) as ledger:
        for name, queries in _queries(large, setup.pick(100, 40)).items():
            mine, theirs = _timed(
                queries, lambda query: ledger.search(query[0], limit=_LIMIT), lambda query: _ask(raw, query)
            )
            for share in (50, 99):
                ours, floor = _percentile(mine, share), _percentile(theirs, share)
                what = f"{size / 1e6:g} M messages, {name}, p{share}"
                yield at_most("search", what, ms(ours), f"{ms(floor)} raw FTS5", ours / floor, _TARGET)
    raw.close()


def _ask(raw: apsw.Connection, query: Query) -> object:
    return raw.execute(query[2], (query[1],)).fetchall()


def _timed(
    queries: list[Query], ours: Callable[[Query], object], floor: Callable[[Query], object]
) -> tuple[list[float], list[float]]:
    """The best of three for each query, both in turns."""
    found: tuple[list[float], list[float]] = ([], [])
    for query in queries:
        for times, work in zip(found, (ours, floor), strict=True):
            times.append(min(_took(work, query) for _ in range(3)))
    return found


def _took(work: Callable[[Query], object], query: Query) -> float:
    begun = time.perf_counter()
    work(query)
    return time.perf_counter() - begun


def _percentile(times: list[float], share: int) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def _queries(large: Large, count: int) -> dict[str, list[Query]]:
    """Words from the most common to the rarest, evenly over the logarithm of their rank."""
    made = random.Random(9)
    counted = Counter(word for text in large.texts for word in set(_WORD.findall(text.lower())))
    ranked = [word for word, _ in counted.most_common()]
    words = [ranked[int(exp(made.uniform(0, log(len(ranked))))) - 1] for _ in range(count)]
    pairs = [made.sample(found, 2) for _ in range(count) if len(found := _some(large, made)) > 1]
    runs = [made.choice(list(pairwise(found))) for _ in range(count) if len(found := _run(large, made)) > 1]
    return {
        "one word": [(word, f'"{word}"', _RAW) for word in words],
        "two words": [(f"{a} {b}", f'"{a}" AND "{b}"', _RAW) for a, b in pairs],
        "phrase": [(f'"{a} {b}"', f'"{a} {b}"', _RAW) for a, b in runs],
        "beginning": [(f"{word[:4]}*", f'"{word[:4]}" *', _RAW) for word in words if len(word) > 3],
        "with a filter": [(f"{word} project:project-7", f'"{word}"', _RAW_WHERE) for word in words],
    }


def _some(large: Large, made: random.Random) -> list[str]:
    return sorted(set(_WORD.findall(made.choice(large.texts).lower())))


def _run(large: Large, made: random.Random) -> list[str]:
    return [word.strip(".").lower() for word in made.choice(large.texts).split()]
