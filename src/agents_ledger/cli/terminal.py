"""The one sanitizer: text of others can't move the cursor, write the clipboard, hide or turn itself around.

What could is shown, not dropped: ESC as ␛, the other control characters as their pictures, everything
invisible as its code point. So an OSC 8 link or an OSC 52 clipboard write stands there as harmless letters.
"""

import re

from agents_ledger.model.visible import INVISIBLE, clean

__all__ = ["clean", "json_safe", "one_line"]

_SURROGATES = (0xD800, 0xDFFF)
_HARMLESS = str.maketrans({"\t": " ", "\n": " "})
_RANGES = "".join(f"{chr(first)}-{chr(last)}" for first, last in (*INVISIBLE, _SURROGATES))
_ESCAPED = f"[\x7f{_RANGES}]"  # a text: compiling it takes 1 ms, and plain answers do not need it


def one_line(text: str) -> str:
    """Clean text on one line: newlines and tabs become spaces, runs of spaces one."""
    return " ".join(clean(text.translate(_HARMLESS)).split())


def json_safe(document: str) -> str:
    """The same JSON document with everything invisible written as escapes: safe to look at, equal when read."""
    return re.sub(_ESCAPED, _escape, document)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
