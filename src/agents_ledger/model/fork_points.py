"""What a search for starting points gives: turns to fork from, and why."""

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from agents_ledger.model.grammar import GRAMMAR
from agents_ledger.model.hits import Snippet

_A_LOT = 0.5  # of the budget
_WORDS = 4  # that are named
_LEAST = 0.1  # of what the weightiest word is worth, from which on another one is worth naming


class Stand(Struct, frozen=True):
    """A turn on the way to a fork point in which something of the question stands."""

    turn_id: str
    turns_above: int  # 0: the fork point itself
    words: tuple[str, ...]
    share: float  # of what makes the fork point relevant, from 0 to 1
    is_summarised: bool = False  # a compaction has put a summary in its place


class ForkPoint(Struct, frozen=True, kw_only=True):
    """A turn from which a question would be well asked."""

    turn_id: str
    score: float
    session: str | None
    origin: str | None
    project: str | None
    title: str | None
    model: str | None
    started_at: int
    depth: int
    opening: str | None  # what the turn itself began with
    words: tuple[str, ...]  # of the question, those that stand in its thread, the most telling first
    telling: tuple[str, ...]  # those of them that carry weight, and do not only hold the sentence together
    is_alike: bool  # also in its meaning
    missing: tuple[str, ...]
    stands: tuple[Stand, ...]  # where they stand, the weightiest first
    snippet: Snippet  # out of the first of these
    context_tokens: int  # what an agent would read first
    is_estimated: bool
    is_over_budget: bool
    reasons: tuple[str, ...] = ()

    @property
    def turns_since(self) -> int:
        """How many turns have passed since the question's subject was spoken of."""
        return min((stand.turns_above for stand in self.stands), default=0)


class ForkPoints(Struct, frozen=True):
    """Starting points for a question, the best first; each turn once, however many sessions share it."""

    question: str
    points: tuple[ForkPoint, ...]
    budget_tokens: int
    by: Literal["words", "both"] = "words"


def reasons(point: ForkPoint, budget_tokens: int) -> Iterator[str]:
    """Why a turn is where it is in the list, the weightiest first."""
    yield _what(point)
    yield _where(point)
    if summarised := sum(stand.share for stand in point.stands if stand.is_summarised):
        yield f"{'most' if summarised > _A_LOT else 'some'} of it is only in a summary by now"
    yield _size(point, budget_tokens)


def telling(worths: Mapping[str, float]) -> tuple[str, ...]:
    """The words that a point is found by, the weightiest first, without those that count little beside them."""
    found = sorted(worths.keys() - GRAMMAR, key=lambda word: (-worths[word], word))
    return tuple(word for word in found if worths[word] >= _LEAST * worths[found[0]])


def _what(point: ForkPoint) -> str:
    if not point.telling:
        return "means something alike" if point.is_alike else f"has only {', '.join(point.words[:_WORDS])} of it"
    more = len(point.telling) - _WORDS
    return f"speaks of {', '.join(point.telling[:_WORDS])}" + (f" and {more} more" if more > 0 else "")


def _where(point: ForkPoint) -> str:
    above = sorted(stand.turns_above for stand in point.stands)
    if not any(above):
        return "in this turn"
    if point.turns_since:
        return f"last spoken of {_turns(point.turns_since)} before"
    return f"in this turn and up to {_turns(above[-1])} before"


def _size(point: ForkPoint, budget_tokens: int) -> str:
    about = "about " if point.is_estimated else ""
    said = f"a context of {about}{point.context_tokens:,} tokens"
    if point.is_over_budget:
        return f"{said}, over the budget of {budget_tokens:,}"
    return said if point.context_tokens > _A_LOT * budget_tokens else f"{said}, cheap to go on with"


def _turns(count: int) -> str:
    return "one turn" if count == 1 else f"{count:,} turns"
