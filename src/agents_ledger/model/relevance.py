"""How much of a question stands in a turn, and how much of that is left further down its thread.

Words count as in BM25, over what was said in a turn: the rarer, the more; again and again a little more; in long turns
less. A turn then has for each word the best of what stands on the way to it: in full if it stands in the turn itself;
less with each turn that has passed since, because the subject may have changed, but never less than what stands in a
context anyway; and little if a compaction has summarised it. The constants were chosen on one half of the
questions of bench/smart_fork.py.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from agents_ledger.model.grammar import GRAMMAR
from agents_ledger.model.queries import Term
from agents_ledger.model.tokens import is_special, pairs

LONGEST = 4096  # characters of a question that are looked at
MOST_WORDS = 64
_WORD = re.compile(r"[^\W_]+")
_K1, _B, _LENGTH = 1.2, 0.75, 10_000  # as usual; bytes of a middling turn
_ENOUGH, _EVERYWHERE = 200, 0.8  # turns that tell how rare a word is; part of them in which a word of grammar is
_RARER = 2  # a question has many words that are a little rare: those that are very rare shall decide
_ELSEWHERE = 0.05  # times that a word counts which stands in the results of a call or in thoughts
_CARRIED = 0.8  # what the turn before is worth
_FADING = 0.8  # and each one before that, of what follows it
_STANDING = 0.2  # but never less, while it stands in the context
_SUMMARISED = 0.35  # of that, where only a summary is left
_MEANT = 20.0  # what a perfect likeness is worth against words
_UNLIKE = 0.2  # likeness of things that have nothing to do with each other


class Part(Struct, frozen=True):
    """One message, call or summary: what counts of its text, and what each word in it is worth."""

    text: str
    weight: float
    words: frozenset[str] = frozenset()  # that the index has found in it, perhaps in what is not in `text`


class Share(Struct, frozen=True):
    """What a word is worth at a turn, and which turn on the way has it."""

    worth: float
    turn_id: str


class Step(Struct, frozen=True):
    """A turn on the way: how far above, and whether only a summary of it is left."""

    turn_id: str
    turns_above: int
    is_summarised: bool = False


def question_terms(text: str) -> list[Term]:
    """The words of a question, each once; what only the index of special texts knows is quoted. Nothing is syntax."""
    found: dict[Term, None] = {}
    for word in pairs(text[:LONGEST]):
        found[Term(word, is_quoted=is_special(word))] = None
    return list(found)[:MOST_WORDS]


def rarity(word: str, count: float, of_all: int) -> float:
    """What a word is worth that was said in so many of all turns.

    A few turns do not tell: there, a word of grammar counts as if it stood in most of those that are not there yet.
    """
    unsaid = max(_ENOUGH - of_all, 0) if word in GRAMMAR else 0
    seen, turns = count + unsaid * _EVERYWHERE, of_all + unsaid
    return math.pow(math.log(1 + (max(turns - seen, 0) + 0.5) / (seen + 0.5)), _RARER)


def worths(parts: Iterable[Part], rarities: Mapping[str, float], size: float) -> dict[str, float]:
    """What each word is worth in a turn, by its parts and how many bytes were said in it."""
    counts: dict[str, float] = {}
    for part in parts:
        seen = _counted(part.text, rarities)
        for word in seen.keys() | part.words:
            counts[word] = counts.get(word, 0.0) + part.weight * max(seen[word], _ELSEWHERE)
    slack = _K1 * (1 - _B + _B * size / _LENGTH)
    return {word: rarities[word] * count * (_K1 + 1) / (count + slack) for word, count in counts.items()}


def likeness_worth(likeness: float) -> float:
    """What a likeness of meaning, from -1 to 1, is worth against words."""
    return _MEANT * max(0.0, likeness - _UNLIKE)


def carried(way: Iterable[Step], known: Mapping[str, Mapping[str, float]]) -> dict[str, Share]:
    """For each word the best of what stands on the way to a turn, the turn itself included."""
    best: dict[str, Share] = {}
    for step in way:
        left = _left(step)
        for word, worth in known[step.turn_id].items():
            if word not in best or worth * left > best[word].worth:
                best[word] = Share(worth * left, step.turn_id)
    return best


def _left(step: Step) -> float:
    left = max(_STANDING, _CARRIED * _FADING ** (step.turns_above - 1)) if step.turns_above else 1.0
    return left * _SUMMARISED if step.is_summarised else left


def _counted(text: str, rarities: Mapping[str, float]) -> Counter[str]:
    """How often each word stands in a text."""
    seen = Counter(word for word in _WORD.findall(text.lower()) if word in rarities)
    if is_special(text):
        seen.update({word: times for word in rarities if is_special(word) and (times := text.count(word))})
    return seen
