"""Snippets: the piece of a text that says most about why it was found, with the words marked."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache

from agents_ledger.model.hits import Snippet
from agents_ledger.model.tokens import is_unspaced

_MOST = 40  # places of each term that are looked at
_FEW = 16  # letters with accents that are replaced one after the other
_LEAD = 40  # characters before the first match
_WORD = re.compile(r"[^\W_]+")
_ASCII = bytes(range(128))
_SIGMA, _LAST_SIGMA = "\u03c3", "\u03c2"  # one letter, written otherwise where a word ends
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_])"


class Marker:
    """Finds terms in texts: a needle that any text is searched for quickly, and what must stand there."""

    def __init__(self, forms: Sequence[tuple[str, bool]]) -> None:
        """From (text, is it only a beginning)."""
        self._forms = forms

    @cached_property
    def _sought(self) -> list[tuple[str, "re.Pattern[str] | None"]]:
        """Made when first asked for: where the words themselves stand, their other forms are not looked for."""
        return [part for each in self._forms for part in _parts(*each)]

    @property
    def is_of_words(self) -> bool:
        """Whether only letters and digits are searched for, without signs between them."""
        return all(needle.isalnum() for needle, _ in self._sought)

    @property
    def is_several(self) -> bool:
        """Whether there is more than one form to look for."""
        return len(self._sought) > 1

    def first(self, folded: str) -> int:
        """Where something stands that may be one of the terms; -1 for nowhere."""
        return min((at for needle, _ in self._sought if (at := folded.find(needle)) >= 0), default=-1)

    def spots(self, folded: str) -> list[tuple[int, int, int]]:
        """(from, to, which form) of what was found, in order; not all of it in long texts."""
        found: list[tuple[int, int, int]] = []
        for index, (needle, form) in enumerate(self._sought):
            at, count, long = folded.find(needle), 0, len(needle)
            while at >= 0 and count < _MOST:
                end = at + long
                if form is not None:
                    match = form.match(folded, at)
                    end = match.end() if match else -1
                elif folded[end : end + 1].isalnum() or folded[at - 1 : at].isalnum():
                    end = -1  # only a part of a word
                if end >= 0:
                    found.append((at, end, index))
                    count += 1
                at = folded.find(needle, at + 1)
        if len(self._sought) > 1:  # those of one form are in order
            found.sort()
        return found


def cut(text: str, marker: Marker, width: int) -> Snippet | None:
    """The best piece of a text; None if nothing in it matches."""
    spots = marker.spots(fold(text))
    if not spots:
        return None
    begin, end = _edges(text, spots[0][0] if len(spots) == 1 else _best(spots, width), width)
    raw = text[begin:end]
    piece = raw if _is_even(raw) else " ".join(raw.split())
    if len(piece) == len(raw) and len(spots) < _MOST:  # no character has moved: what was found stands where it stood
        inside = [(start - begin, to - begin, form) for start, to, form in spots if begin <= start and to <= end]
    else:
        inside = marker.spots(fold(piece))
    before, after = ("…" if begin > 0 else ""), ("…" if end < len(text) else "")
    return Snippet(f"{before}{piece}{after}", _apart(inside, len(before)))


def opening(text: str, width: int) -> Snippet:
    """How a text begins."""
    piece = " ".join(text[: width * 4].split())
    return Snippet(piece if len(piece) <= width else f"{piece[: width - 1].rstrip()}…")


def fold(text: str) -> str:
    """The same text in small letters and without accents, character by character."""
    if text.isascii():
        return text.lower()
    # In bytes: small ASCII letters cost a tenth there, and what is left without ASCII are the few others.
    raw = text.encode("utf-8", "surrogatepass")
    strange = set(raw.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    small = raw.lower().decode("utf-8", "surrogatepass")
    bare = {char: plain for char in strange if (plain := _bare(char)) != char}
    if len(bare) > _FEW:
        return small.translate({ord(char): plain for char, plain in bare.items()})
    for char, plain in bare.items():
        small = small.replace(char, plain)
    return small


@lru_cache(maxsize=4096)
def _bare(char: str) -> str:
    small = char.lower()[0]  # Turkish has a capital that becomes two
    first = unicodedata.normalize("NFD", small)[0].lower()[0]
    return _SIGMA if first == _LAST_SIGMA else first if first.isalnum() else small


def _parts(text: str, is_prefix: bool) -> list[tuple[str, "re.Pattern[str] | None"]]:
    """(needle, pattern) of a term: as it is where it has signs or no spaces, else its words.

    A single word needs no pattern, and to compile one takes as long as to cut ten pieces.
    """
    folded = fold(text)
    words = _WORD.findall(folded)
    if is_unspaced(text) or not words:
        return [(folded, re.compile(re.escape(folded)))]
    if words == [folded] and not is_prefix:
        return [(folded, None)]
    end = r"[^\W_]*" if is_prefix else _AFTER
    plain = (words[0], re.compile(_BEFORE + r"[\W_]+".join(map(re.escape, words)) + end))
    return [plain] if (text[0] + text[-1]).isalnum() else [(folded, re.compile(re.escape(folded))), plain]


def _best(spots: list[tuple[int, int, int]], width: int) -> int:
    """Where the piece begins that has the most different terms in it, then the most of them."""
    best, place = (0, 0), spots[0][0]
    for index, (start, _, _) in enumerate(spots):
        near = [form for at, _, form in spots[index : index + _MOST] if at < start + width - _LEAD]
        rated = (len(set(near)), len(near))
        if rated > best:
            best, place = rated, start
    return place


def _apart(spots: list[tuple[int, int, int]], by: int) -> tuple[tuple[int, int], ...]:
    """Marks that do not overlap, moved to the right."""
    marks: list[tuple[int, int]] = []
    if len(spots) > 1:
        spots = sorted(spots, key=lambda spot: (spot[0], -spot[1]))
    for start, end, _ in spots:
        if end > start and (not marks or start >= marks[-1][1] - by):
            marks.append((start + by, end + by))
    return tuple(marks)


def _is_even(text: str) -> bool:
    """Whether nothing but single spaces stands between its words."""
    # of all that separates words, only the space itself is printable; a third of the time of taking it apart
    return text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " "


def _edges(text: str, at: int, width: int) -> tuple[int, int]:
    """Around a match, from word to word."""
    begin = 0
    if at > _LEAD:
        begin = at - _LEAD
        space = text.find(" ", begin, at)
        begin = space + 1 if space >= 0 else begin
    end = len(text)
    if begin + width < end:
        end = begin + width
        space = text.rfind(" ", at + _LEAD, end)
        end = space if space > at else end
    return begin, end
