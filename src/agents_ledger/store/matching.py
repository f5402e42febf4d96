"""A query in the words of each engine: FTS5's, and PostgreSQL's `tsquery`. Both from the same terms.

Only letters and digits get here, inside quotation marks: nothing of what people type is read as syntax.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from agents_ledger.model.queries import Term
from agents_ledger.model.tokens import tokens

Words = Callable[[str], list[str]]
_WORD = re.compile(r"[^\W_]+")
_LONGEST = 256  # characters of a word: PostgreSQL keeps words of less than 2 KB


def plain_words(text: str) -> list[str]:
    """The words of a text as the databases themselves take it apart."""
    return _WORD.findall(unicodedata.normalize("NFC", text))


def noted_words(text: str) -> list[str]:
    """The words of a text as `search_notes` has them."""
    return tokens(text)


def all_of(dialect: str, wanted: Iterable[Term], excluded: Iterable[Term], words: Words) -> str | None:
    """An expression for everything wanted and nothing excluded; None if no words are wanted."""
    say = _SAY[dialect]
    parts = [said for term in wanted if (said := say(words(term.text), term.is_prefix))]
    without = [said for term in excluded if (said := say(words(term.text), term.is_prefix))]
    if not parts:
        return None
    both, either, none_of = _JOINED[dialect]
    whole = f"({both.join(parts)})"
    return none_of.format(whole, either.join(without)) if without else whole


def any_of(dialect: str, forms: Sequence[tuple[str, bool]], excluded: Iterable[Term], words: Words) -> str | None:
    """An expression for any of several (text, is it only a beginning), and nothing excluded."""
    say = _SAY[dialect]
    parts = [said for text, is_prefix in forms if (said := say(words(text), is_prefix))]
    without = [said for term in excluded if (said := say(words(term.text), term.is_prefix))]
    if not parts:
        return None
    _, either, none_of = _JOINED[dialect]
    whole = f"({either.join(parts)})"
    return none_of.format(whole, either.join(without)) if without else whole


def _fts5(words: list[str], is_prefix: bool) -> str:
    if not words:
        return ""
    return f'"{" ".join(word[:_LONGEST] for word in words)}"' + (" *" if is_prefix else "")


def _tsquery(words: list[str], is_prefix: bool) -> str:
    if not words:
        return ""
    return "(" + " <-> ".join(f"'{word[:_LONGEST]}'" for word in words) + (":*)" if is_prefix else ")")


_SAY: dict[str, Callable[[list[str], bool], str]] = {"sqlite": _fts5, "postgres": _tsquery}
_JOINED = {"sqlite": (" AND ", " OR ", "{} NOT ({})"), "postgres": (" & ", " | ", "{} & !({})")}
