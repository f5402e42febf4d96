"""The one sanitizer: text of others can't move the cursor, write the clipboard, hide or turn itself around.

What could is shown, not dropped: ESC as ␛, the other control characters as their pictures, everything
invisible as its code point. So an OSC 8 link or an OSC 52 clipboard write stands there as harmless letters.
"""

import re

_TAB, _NEWLINE, _DEL = 0x09, 0x0A, 0x7F
_INVISIBLE = (
    (0x0080, 0x009F),  # C1: one-byte CSI, OSC, DCS
    (0x00AD, 0x00AD),  # soft hyphen
    (0x061C, 0x061C),  # Arabic letter mark (bidi)
    (0x180E, 0x180E),  # Mongolian vowel separator
    (0x200B, 0x200F),  # zero width, and bidi marks
    (0x2028, 0x202E),  # line and paragraph separators, bidi embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, bidi isolates
    (0xFEFF, 0xFEFF),  # zero width no-break space
    (0xFFF9, 0xFFFB),  # interlinear annotation
    (0xE0000, 0xE007F),  # tags: text that models read and people don't see
    (0xE0100, 0xE01EF),  # variation selectors, used to smuggle bytes
)
_SURROGATES = (0xD800, 0xDFFF)


def _pictures() -> dict[int, str]:
    shown = {code: chr(0x2400 + code) for code in range(0x20) if code not in (_TAB, _NEWLINE)}
    shown[_DEL] = "␡"
    for first, last in _INVISIBLE:
        shown |= {code: f"<U+{code:04X}>" for code in range(first, last + 1)}
    return shown


_SHOWN = _pictures()
_HARMLESS = str.maketrans({_TAB: " ", _NEWLINE: " "})
_RANGES = "".join(f"{chr(first)}-{chr(last)}" for first, last in (*_INVISIBLE, _SURROGATES))
_ESCAPED = re.compile(f"[\x7f{_RANGES}]")
_LONE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Text for a terminal: newlines and tabs stay, everything that acts or hides becomes visible."""
    if text.isascii() and text.isprintable():
        return text
    return _LONE.sub("\ufffd", text.replace("\r\n", "\n").translate(_SHOWN))


def one_line(text: str) -> str:
    """Clean text on one line: newlines and tabs become spaces, runs of spaces one."""
    return " ".join(clean(text.translate(_HARMLESS)).split())


def json_safe(document: str) -> str:
    """The same JSON document with everything invisible written as escapes: safe to look at, equal when read."""
    return _ESCAPED.sub(_escape, document)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
