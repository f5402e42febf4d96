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
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_])"


class Marker:
    """Finds terms in texts: a needle that any text is searched for quickly, and what must stand there."""

    def __init__(self, forms: Sequence[tuple[str, bool]]) -> None:
        """From (text, is it only a beginning)."""
        self._forms = forms

    @cached_property
    def _sought(self) -> list[tuple[str, re.Pattern[str]]]:
        """Made when first asked for: where the words themselves stand, their other forms are not looked for."""
        return [(needle, re.compile(form)) for each in self._forms for needle, form in _part(*each)]

    @property
    def is_of_words(self) -> bool:
        """Whether only letters and digits are searched for, without signs between them."""
        return all(needle.isalnum() for needle, _ in self._sought)

    def first(self, folded: str) -> int:
        """Where something stands that may be one of the terms; -1 for nowhere."""
        return min((at for needle, _ in self._sought if (at := folded.find(needle)) >= 0), default=-1)

    def spots(self, folded: str) -> list[tuple[int, int, int]]:
        """(from, to, which form) of what was found, in order; not all of it in long texts."""
        found: list[tuple[int, int, int]] = []
        for index, (needle, form) in enumerate(self._sought):
            at, count = folded.find(needle), 0
            while at >= 0 and count < _MOST:
                if match := form.match(folded, at):
                    found.append((at, match.end(), index))
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
    small = text.lower()
    if text.isascii():
        return small
    if len(small) != len(text):  # Turkish: a capital that becomes two
        small = "".join([char.lower()[0] for char in text])
    bare = {char: plain for char in _strange(small) if (plain := _bare(char)) != char}
    if len(bare) > _FEW:
        return small.translate({ord(char): plain for char, plain in bare.items()})
    for char, plain in bare.items():
        small = small.replace(char, plain)
    return small


def _strange(text: str) -> set[str]:
    """Its characters that are not ASCII; in bytes, where the others are gone at once."""
    left = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return set(left.decode("utf-8", "surrogatepass"))


@lru_cache(maxsize=4096)
def _bare(char: str) -> str:
    first = unicodedata.normalize("NFD", char)[0]
    return first if first.isalnum() else char


def _part(text: str, is_prefix: bool) -> list[tuple[str, str]]:
    """(needle, pattern) of a term: as it is where it has signs or no spaces, else its words."""
    folded = fold(text)
    words = _WORD.findall(folded)
    if is_unspaced(text) or not words:
        return [(folded, re.escape(folded))]
    end = r"[^\W_]*" if is_prefix else _AFTER
    plain = (words[0], _BEFORE + r"[\W_]+".join(map(re.escape, words)) + end)
    return [plain] if (text[0] + text[-1]).isalnum() else [(folded, re.escape(folded)), plain]


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
