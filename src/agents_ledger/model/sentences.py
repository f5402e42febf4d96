"""Sentences, and which of them say the most: counted, not understood. The same words give the same order always."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log, sqrt

from msgspec import Struct

from agents_ledger.model.estimates import estimate

_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_MARK = re.compile(r"^(?:[-*+•>#|]+|\d+[.)]|\[[ xX]\])\s*")
_WORD = re.compile(r"[^\W_]+(?:['\u2019_./-][^\W_]+)*")
_CUE = re.compile(
    r"\b(?:decid\w+|decision|because|instead|must|never|always|fix(?:ed|es)?|root cause|bug|fail\w*|error|"
    r"works?|pass(?:es|ed)?|found|turns? out|chose\w*|agreed?|important|prefer\w*|do(?:es)? not|don.t|can.t|"
    r"should|require[sd]?|constraint|assum\w+|verified|confirmed|conclu\w+)\b",
    re.IGNORECASE,
)
# what an agent says on its way, and asks at the end: true for a moment only
_PASSING = re.compile(
    r"^(?:let me|let.s|now|i.ll|i will|next,? (?:let|i)|okay|ok,|sure|great|perfect|want me|would you like|shall i)\b",
    re.IGNORECASE,
)
_SHORTEST, _LONGEST = 15, 300  # characters of a sentence
_FEWEST_GAPS = 2  # between words: less is a heading, a link or a fragment
_MOST = 20_000  # sentences that are looked at
_RANKED = 400  # sentences that are compared with each other
_CUE_BONUS, _LATE_BONUS = 0.5, 0.5
_SAME = 0.6  # share of common words from which on two sentences say the same


class Sentence(Struct, frozen=True):
    """A sentence, where it stands, and how much more it counts than others."""

    text: str
    at: int
    weight: float = 1.0


def split(text: str) -> Iterator[str]:
    """The sentences of a text without its code, each on one line and not too long, without headings and fragments."""
    for piece in _END.split(_without_code(text)):
        line = _MARK.sub("", " ".join(piece.replace("**", "").split()))
        if len(line) >= _SHORTEST and not line.endswith(":") and line.count(" ") >= _FEWEST_GAPS:
            yield shortened(line)


def _without_code(text: str) -> str:
    """The text with a newline for each block of code. A fence without an end is text."""
    kept: list[str] = []
    done = at = 0
    while opening := _FENCE.search(text, at):
        closing = text.find(f"\n{opening[0]}", opening.end())
        if closing < 0:
            at = opening.end()
            continue
        kept += (text[done : opening.start()], "\n")
        end = text.find("\n", closing + 1)
        done = at = end if end >= 0 else len(text)
    return "".join((*kept, text[done:]))


def is_passing(line: str) -> bool:
    """Whether a sentence only says what its speaker is about to do, or asks whether to."""
    return _PASSING.match(line) is not None


def shortened(line: str, longest: int = _LONGEST) -> str:
    """The beginning of a line, up to a word's end."""
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut[longest // 2 :] else cut}…"


def words(text: str) -> list[str]:
    """The words of a text; of scripts without spaces, each pair of characters."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if not word.isascii() and _has_no_spaces(word):
            found += [word[at : at + 2] for at in range(max(len(word) - 1, 1))]
        elif len(word) > 1 and not word.isdigit():
            found.append(word)
    return found


def choose(sentences: Sequence[Sentence], limit_tokens: int) -> list[Sentence]:
    """The sentences that say the most and each something else, in their order, within so many tokens."""
    given = sentences[-_MOST:]
    said = [set(words(sentence.text)) for sentence in given]
    worth = _worths(given, said)
    best = sorted(range(len(given)), key=lambda at: (-worth[at], given[at].at, at))[:_RANKED]
    chosen: list[int] = []
    for at in best:
        cost = estimate(given[at].text) + 1
        if cost <= limit_tokens and not any(overlap(said[at], said[other]) > _SAME for other in chosen):
            chosen.append(at)
            limit_tokens -= cost
    return [given[at] for at in sorted(chosen)]


def overlap(one: set[str], other: set[str]) -> float:
    """How much two sets of words have in common, of the smaller one; 1 if one of them is empty."""
    least = min(len(one), len(other))
    return len(one & other) / least if least else 1.0


def rarity(sets: Sequence[set[str]]) -> dict[str, float]:
    """How much each word tells: the fewer texts have it, the more."""
    counts = Counter(word for words_of in sets for word in words_of)
    return {word: log(1 + len(sets) / count) for word, count in counts.items()}


def _worths(sentences: Sequence[Sentence], said: Sequence[set[str]]) -> list[float]:
    """A word that few sentences have says who is spoken of; one that comes again says what it is about."""
    rare = rarity(said)
    counts = Counter(word for words_of in said for word in words_of)
    last = max((sentence.at for sentence in sentences), default=0) or 1
    found = []
    for sentence, own in zip(sentences, said, strict=True):
        content = sum(rare[word] * log(1 + counts[word]) for word in sorted(own)) / sqrt(len(own) + 4)
        cue = _CUE_BONUS if _CUE.search(sentence.text) else 0.0
        late = _LATE_BONUS * sentence.at / last
        found.append(content * (1 + cue + late) * sentence.weight)
    return found


def _has_no_spaces(word: str) -> bool:
    return any("\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" for char in word)
