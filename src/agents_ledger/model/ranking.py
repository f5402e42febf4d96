"""Ranking: what comes first among turns that match."""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

_ALPHABET = {char: value for value, char in enumerate("0123456789ABCDEFGHJKMNPQRSTVWXYZ")}
_COARSE = 6  # characters of an id: its time in steps of 17 minutes
_STEP_MS = 1 << 20
_HALF_LIFE = 30 * 86_400_000 / _STEP_MS  # steps
_NEWNESS = 0.35  # how much more a turn of this moment counts than one of long ago
_AGAIN = 0.08  # how much each further matching part of a turn adds
_MOST_AGAIN = 5
_MOST_FACTORS = 16_384  # that are remembered: half a year of steps
_RRF = 20


class Ranked(Struct, frozen=True, gc=False):
    """A turn, its part that matches best, and how well."""

    turn_id: str
    number: int | None  # of the message or call; None: something about the turn as a whole
    score: float
    place: str | None = None  # what else matched: a title, a summary, a path
    said: str | None = None  # that text
    is_partial: bool = False


Key = tuple[
    float, str, int | None
]  # less its score, a turn, its part: sorted, the best is first; of equals, the oldest


class Newness:
    """How much more new turns count, at a moment."""

    def __init__(self, now_ms: int) -> None:
        self.factors = _factors(now_ms // _STEP_MS)

    def of(self, turn_id: str) -> float:
        """A factor from 1 (old) to 1.35 (just now), from the time in a turn's id."""
        return self.factors[turn_id[:_COARSE]]


def by_turn(rows: Iterable[tuple[Any, ...]], newness: Newness) -> list[Key]:
    """Turns out of (number, turn, score) of their parts, the best first. Of hundreds a page shows a few: see `told`."""
    best: dict[str, tuple[Any, ...]] = {}  # the rows themselves: nothing is made for a part that does not count
    again: dict[str, int] = {}
    for row in rows:
        turn_id = row[1]
        known = best.get(turn_id)
        if known is None:
            best[turn_id] = row
        else:
            again[turn_id] = again.get(turn_id, 0) + 1
            if row[2] > known[2]:
                best[turn_id] = row
    more = {turn_id: 1 + _AGAIN * min(times, _MOST_AGAIN) for turn_id, times in again.items()}
    factors = newness.factors
    ordered: list[Key] = [
        (-row[2] * more.get(turn_id, 1) * factors[turn_id[:_COARSE]], turn_id, row[0]) for turn_id, row in best.items()
    ]
    ordered.sort()
    return ordered


def told(keys: Iterable[Key]) -> Iterator[Ranked]:
    """Turns by their keys, one after the other."""
    return (Ranked(turn_id, number, -score) for score, turn_id, number in keys)


def raised(keys: Sequence[Key], few: Sequence[Ranked], weight: float) -> Iterator[Ranked]:
    """What `fused` makes of many turns by their keys, with the weight 1, and few others; one after the other."""
    kept = {each.turn_id: each for each in few}
    scores = {turn_id: -weight / rank for rank, turn_id in enumerate(kept, _RRF + 1)}
    for rank, (_, turn_id, number) in enumerate(keys, _RRF + 1):
        if turn_id in kept:
            kept[turn_id] = Ranked(turn_id, number, 0.0)
            scores[turn_id] -= 1.0 / rank
    ahead = sorted(((score, turn_id) for turn_id, score in scores.items()), reverse=True)
    for rank, (_, turn_id, number) in enumerate(keys, _RRF + 1):
        if turn_id not in kept:
            score = -1.0 / rank
            while ahead and ahead[-1] < (score, turn_id):
                yield _scored(kept, *ahead.pop())
            yield Ranked(turn_id, number, -score)
    while ahead:
        yield _scored(kept, *ahead.pop())


def fused(*lists: tuple[float, Iterable[Ranked]]) -> list[Ranked]:
    """One list out of several with their weights, by reciprocal ranks: scores of different kinds can't be compared."""
    scores: dict[str, float] = {}
    kept: dict[str, Ranked] = {}
    for weight, ranked in lists:
        for rank, each in enumerate(ranked, _RRF + 1):
            turn_id = each.turn_id
            if turn_id in scores:
                scores[turn_id] -= weight / rank
            else:
                scores[turn_id], kept[turn_id] = -weight / rank, each
    ordered = sorted((score, turn_id) for turn_id, score in scores.items())
    return [_scored(kept, score, turn_id) for score, turn_id in ordered]


def _scored(kept: dict[str, Ranked], score: float, turn_id: str) -> Ranked:
    each = kept[turn_id]
    return Ranked(turn_id, each.number, -score, each.place, each.said, each.is_partial)


class _Factors(dict[str, float]):
    """How much more turns count at a moment, by the beginning of their ids: each is computed once."""

    def __init__(self, now: int) -> None:
        super().__init__()
        self._now = now

    def __missing__(self, stamp: str) -> float:
        then = 0
        for char in stamp:
            then = then << 5 | _ALPHABET.get(char, 0)
        if len(self) >= _MOST_FACTORS:
            self.clear()
        factor = self[stamp] = 1 + _NEWNESS * math.pow(0.5, max(0, self._now - then) / _HALF_LIFE)
        return factor


@lru_cache(maxsize=2)
def _factors(now: int) -> _Factors:
    """Those of a moment, in steps."""
    return _Factors(now)
