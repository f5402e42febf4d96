"""Ranking: what comes first among turns that match."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

_ALPHABET = {char: value for value, char in enumerate("0123456789ABCDEFGHJKMNPQRSTVWXYZ")}
_COARSE = 6  # characters of an id: its time in steps of 17 minutes
_STEP_MS = 1 << 20
_HALF_LIFE_MS = 30 * 86_400_000
_NEWNESS = 0.35  # how much more a turn of this moment counts than one of long ago
_AGAIN = 0.08  # how much each further matching part of a turn adds
_MOST_AGAIN = 5
_RRF = 20


class Ranked(Struct, frozen=True):
    """A turn, its part that matches best, and how well."""

    turn_id: str
    number: int | None  # of the message or call; None: something about the turn as a whole
    score: float
    place: str | None = None  # what else matched: a title, a summary, a path
    said: str | None = None  # that text
    is_partial: bool = False


class Newness:
    """How much more new turns count, at a moment."""

    def __init__(self, now_ms: int) -> None:
        self._now = now_ms
        self._known: dict[str, float] = {}

    def of(self, turn_id: str) -> float:
        """A factor from 1 (old) to 1.35 (just now), from the time in a turn's id."""
        stamp = turn_id[:_COARSE]
        factor = self._known.get(stamp)
        if factor is None:
            age = max(0, self._now - _coarse_ms(stamp))
            factor = self._known[stamp] = 1 + _NEWNESS * 0.5 ** (age / _HALF_LIFE_MS)
        return factor


def by_turn(rows: Iterable[tuple[Any, ...]], newness: Newness) -> list[Ranked]:
    """Turns out of (number, turn, score) of their parts, the best first."""
    best: dict[str, tuple[float, int]] = {}
    counts: dict[str, int] = {}
    for number, turn_id, score, *_ in rows:
        counts[turn_id] = counts.get(turn_id, 0) + 1
        known = best.get(turn_id)
        if known is None or score > known[0]:
            best[turn_id] = score, number
    ranked = [
        Ranked(turn_id, number, score * newness.of(turn_id) * (1 + _AGAIN * min(counts[turn_id] - 1, _MOST_AGAIN)))
        for turn_id, (score, number) in best.items()
    ]
    ranked.sort(key=_order)
    return ranked


def fused(*lists: tuple[float, Sequence[Ranked]]) -> list[Ranked]:
    """One list out of several with their weights, by reciprocal ranks: scores of different kinds can't be compared."""
    scores: dict[str, float] = {}
    kept: dict[str, Ranked] = {}
    for weight, ranked in lists:
        for rank, each in enumerate(ranked, 1):
            scores[each.turn_id] = scores.get(each.turn_id, 0.0) + weight / (_RRF + rank)
            kept.setdefault(each.turn_id, each)
    made = [
        Ranked(each.turn_id, each.number, scores[each.turn_id], each.place, each.said, each.is_partial)
        for each in kept.values()
    ]
    made.sort(key=_order)
    return made


def _order(ranked: Ranked) -> tuple[float, str]:
    return -ranked.score, ranked.turn_id


@lru_cache(maxsize=4096)
def _coarse_ms(stamp: str) -> int:
    value = 0
    for char in stamp:
        value = value << 5 | _ALPHABET.get(char, 0)
    return value * _STEP_MS
