"""What people type to find something, as a value: words, "phrases", begin*, -without, key:value.

Every text is a query: what looks like syntax and is none is just words.
"""

import re
from functools import cached_property

from msgspec import Struct

from agents_ledger.errors import BadInput
from agents_ledger.model.texts import readable
from agents_ledger.model.times import parse_end
from agents_ledger.model.tokens import is_special, is_unspaced, tokens

KEYS = ("role", "tool", "file", "origin", "project", "model", "session", "since", "until")
ROLES = ("user", "assistant", "system", "tool")
OTHER_ROLES = {"human": "user", "you": "user", "agent": "assistant", "ai": "assistant", "tools": "tool"}
_TIMES = ("since", "until")
_OPPOSITE = {"since": "until", "until": "since"}
_MOST = 4096  # characters that are looked at
_MOST_TERMS = 64
# -key:"value", "phrase", word; a quotation mark that is not closed ends with the text. A minus that another sign
# follows (`--force`, `->`) takes nothing away.
_ITEM = re.compile(
    rf"""(?P<minus>(?:-(?=[\w"]))?)(?:
        (?P<key>{"|".join(KEYS)}):(?:"(?P<quoted>[^"]*)"?|(?P<value>[^\s"]+))
        |"(?P<phrase>[^"]*)"?(?P<phrase_star>\*?)
        |(?P<word>[^\s"]+)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# what stands around words in sentences and in code, and is not looked for
_QUOTES = "'`\u2018\u2019\u201c\u201d\u00ab\u00bb,;:!?\u2026\u2013\u2014"
_BEFORE, _AFTER = "([{*" + _QUOTES, ")]}." + _QUOTES
_FILLING = frozenset(_BEFORE + _AFTER + "-&|/\\")


_WORD = re.compile(r"[^\W_]+")


class Term(Struct, frozen=True):
    """A word, or words that stand one after the other."""

    text: str
    is_prefix: bool = False
    is_excluded: bool = False
    is_quoted: bool = False

    @property
    def words(self) -> list[str]:
        """Its words, as the index knows them; none if it is made of signs alone."""
        return tokens(self.text)

    @property
    def is_plain(self) -> bool:
        """Whether it has words that the databases know by themselves."""
        return any(not is_special(word) for word in _WORD.findall(self.text))

    @property
    def is_noted(self) -> bool:
        """Whether only the index of special texts knows it."""
        return is_unspaced(self.text) or (is_special(self.text) and not self.is_plain)

    @property
    def literal(self) -> str | None:
        """What must stand in the text as it is, because it begins or ends with signs: `C++`, `.env`, `🚀`."""
        if not self.text or is_unspaced(self.text):
            return None
        return None if (self.text[0] + self.text[-1]).isalnum() else self.text


class Condition(Struct, frozen=True):
    """Something that a hit must be, or must not be."""

    key: str
    value: str
    is_excluded: bool = False


class Query(Struct, frozen=True, dict=True):
    """A whole query; what follows from it is found out once."""

    terms: tuple[Term, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @cached_property
    def wanted(self) -> tuple[Term, ...]:
        """The terms that are looked for."""
        return tuple(term for term in self.terms if not term.is_excluded)

    @cached_property
    def excluded(self) -> tuple[Term, ...]:
        """The terms that must not be there."""
        return tuple(term for term in self.terms if term.is_excluded)

    @property
    def is_word(self) -> bool:
        """Whether all that is looked for is one whole word."""
        return len(self.terms) == 1 and self.terms[0].text.isalnum() and not self.terms[0].is_prefix

    @cached_property
    def is_special(self) -> bool:
        """Whether something is looked for that only the index of special texts knows."""
        texts = [term.text for term in self.wanted]
        if any(map(is_unspaced, texts)):
            return True
        return any(map(is_special, texts)) and not any(term.is_plain for term in self.wanted)

    def values(self, key: str, *, is_excluded: bool = False) -> list[str]:
        """What is asked of a key."""
        return [each.value for each in self.conditions if each.key == key and each.is_excluded == is_excluded]


def parse(text: str) -> Query:
    """The query of a text; never fails."""
    if text.isascii() and text.isalnum() and len(text) <= _MOST:
        return Query((Term(text),))  # most are one word: nothing is to be taken apart
    terms: dict[Term, None] = {}
    conditions: dict[Condition, None] = {}
    for found in _ITEM.finditer(readable(text[:_MOST])[0]):
        item = _read(found)
        if isinstance(item, Condition):
            conditions[item] = None
        elif item is not None and len(terms) < _MOST_TERMS:
            terms[item] = None
    return Query(tuple(terms), tuple(conditions))


def spoken(query: Query) -> str:
    """A text that means the query: `parse(spoken(query)) == query`."""
    return " ".join([*map(_say_term, query.terms), *map(_say_condition, query.conditions)])


def remarks(text: str) -> list[str]:
    """What of a text does not mean what it looks like, and what would: a search answers it all the same."""
    if ":" not in text:
        return []
    found = (_remark(item) for item in _ITEM.finditer(readable(text[:_MOST])[0]) if item["key"])
    return list(dict.fromkeys(filter(None, found)))


def _remark(found: re.Match[str]) -> str | None:
    key, value = found["key"].lower(), (found["quoted"] or found["value"] or "").strip()
    if key in _TIMES and value and found["minus"]:
        return f"-{key}:{value} was taken as words: no time can be taken away, write {_OPPOSITE[key]}: instead"
    if key in _TIMES and value:
        try:
            parse_end(value, 0)
        except BadInput as problem:
            return f"{key}:{value} was taken as words: {problem}"
    if key == "role" and value and value.lower() not in {*ROLES, *OTHER_ROLES}:
        return f"role:{value} is nobody's: {', '.join(ROLES)} are the roles that there are"
    return None


def _read(found: re.Match[str]) -> Term | Condition | None:
    is_excluded = bool(found["minus"])
    if found["key"]:
        return _condition(found["key"].lower(), (found["quoted"] or found["value"] or "").strip(), is_excluded)
    if found["phrase"] is not None:
        return _phrase(found["phrase"], is_prefix=bool(found["phrase_star"]), is_excluded=is_excluded)
    typed, is_without = found["word"], _is_without_sign(found["word"])
    return _word(typed[is_without:], is_excluded or is_without)


def _word(typed: str, is_excluded: bool) -> Term | None:
    """A word without the signs around it; none if it is made of such signs alone."""
    word = typed.rstrip(_AFTER)
    bare = word.rstrip(f"*{_AFTER}").lstrip(_BEFORE)
    if not bare:
        bare, word = typed, ""
    if _FILLING.issuperset(bare):
        return None
    again = _ITEM.fullmatch(bare)  # what would be read as something else without the signs around it is a phrase
    is_word = again is not None and again["word"] == bare and not _is_without_sign(bare)
    return Term(bare, word.endswith("*"), is_excluded, is_quoted=not is_word)


def _is_without_sign(word: str) -> bool:
    """Whether it takes an emoji away, which is a word: `-🚀`."""
    return word[0] == "-" and is_special(word[1:2])  # not in the pattern: every search would compile all of them


def _condition(key: str, value: str, is_excluded: bool) -> Condition | Term | None:
    """What is asked of a key; a time that is none is just words."""
    if not value:
        return None
    if key in _TIMES and (is_excluded or not _is_time(value)):
        return _phrase(f"{key}:{value}", is_prefix=False, is_excluded=is_excluded)
    return Condition(key, value, is_excluded)


def _is_time(value: str) -> bool:
    try:
        parse_end(value, 0)
    except BadInput:
        return False
    return True


def _phrase(text: str, *, is_prefix: bool, is_excluded: bool) -> Term | None:
    text = " ".join(text.split())
    return Term(text, is_prefix, is_excluded, is_quoted=True) if text else None


def _say_term(term: Term) -> str:
    body = f'"{term.text}"' if term.is_quoted else term.text
    return ("-" if term.is_excluded else "") + body + ("*" if term.is_prefix else "")


def _say_condition(condition: Condition) -> str:
    return f'{"-" if condition.is_excluded else ""}{condition.key}:"{condition.value}"'
