"""Which texts are read as Markdown. The others take quadratic time, or worse, and are shown as they are.

Real texts nest brackets a few levels deep. With 50,000 opening brackets a parser looks for the end of each, at every
level of nesting that it knows.
"""

import re

LONGEST = 200_000  # characters
NESTING = 20  # levels that a parser goes into: quotes, lists, emphasis, links
_BRACKETS = 100  # open at the same time, in one block
_QUOTES = 50  # `>` at the beginning of a line
_COLUMNS = 500  # of a table
_PIECE = re.compile(r"\\.|[\[\]]|\n[ \t]*\n", re.DOTALL)
_DEEP_QUOTE = re.compile(rf"^[ \t]*+(?:>[ \t]*+){{{_QUOTES}}}", re.MULTILINE)
_DELIMITERS = re.compile(rf"^[ \t>]*+\|?(?:[ \t]*+:?-++:?[ \t]*+\|){{{_COLUMNS}}}", re.MULTILINE)


def is_readable(text: str) -> bool:
    """Whether a Markdown parser reads the text in linear time."""
    if len(text) > LONGEST:
        return False
    if text.count("[") > _BRACKETS and _open_brackets(text) > _BRACKETS:
        return False
    if text.count(">") >= _QUOTES and _DEEP_QUOTE.search(text):
        return False
    return text.count("|") < _COLUMNS or _DELIMITERS.search(text) is None


def _open_brackets(text: str) -> int:
    """How many brackets are open at the same time, at the most. A block ends at an empty line."""
    most = depth = 0
    for piece in _PIECE.finditer(text):
        mark = piece[0]
        if mark == "[":
            depth += 1
            most = max(most, depth)
        elif mark == "]":
            depth = max(depth - 1, 0)
        elif mark[0] == "\n":
            depth = 0
    return most
