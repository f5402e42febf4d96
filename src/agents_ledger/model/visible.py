"""What acts on a screen or hides there, made visible: controls, zero width, bidi, tags.

What could is shown, not dropped: ESC as ␛, the other control characters as their pictures, everything
invisible as its code point.
"""

import re
from functools import cache

_TAB, _NEWLINE, _DEL = 0x09, 0x0A, 0x7F
INVISIBLE = (
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


@cache
def _pictures() -> dict[int, str]:
    """What is shown instead. Made when something has to be: most of what is printed is plain."""
    shown = {code: chr(0x2400 + code) for code in range(0x20) if code not in (_TAB, _NEWLINE)}
    shown[_DEL] = "␡"
    for first, last in INVISIBLE:
        shown |= {code: f"<U+{code:04X}>" for code in range(first, last + 1)}
    return shown


_LONE = "[\ud800-\udfff]"


def clean(text: str) -> str:
    """Text to look at: newlines and tabs stay, everything that acts or hides becomes visible."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_LONE, "\ufffd", text.replace("\r\n", "\n").translate(_pictures()))
