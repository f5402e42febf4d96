"""Text and JSON as the databases can hold them, and the bytes behind them.

PostgreSQL refuses NUL in text, neither engine takes lone surrogates, and SQLite's `length()` stops at NUL.
So a text column holds a readable view; where that view lost something, the bytes are kept beside it.
"""

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from agents_ledger.errors import BadInput
from agents_ledger.model.later import Later

if TYPE_CHECKING:
    import json
else:  # for what msgspec does not take
    json = Later("json")

_UNFIT = "[\x00\ud800-\udfff]"
_MIN_INT, _MAX_INT = -(1 << 63), (1 << 63) - 1
_EVERYTHING = 1 << 62  # as a limit (store.ALL): what comes after it, added to it, still fits the 64 bits


def readable(text: str) -> tuple[str, bytes | None]:
    """The text as both databases take it, and the original bytes if they differ from it."""
    if "\x00" not in text and (text.isascii() or _is_whole(text)):
        return text, None
    view = re.sub(_UNFIT, lambda match: "␀" if match[0] == "\x00" else "\ufffd", text)
    return view, text.encode("utf-8", "surrogatepass")


def _is_whole(text: str) -> bool:
    """Whether no surrogate stands alone in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable(text: str) -> str:
    """The text alone, as it can be written down anywhere: without NUL and lone surrogates."""
    return readable(text)[0]


def label(text: str, what: str = "label") -> str:
    """A name that people type: not empty, one line, at most 512 characters, no control characters."""
    if not isinstance(text, str):
        raise BadInput(f"{a(what)} must be text, not {type(text).__name__}")
    if not text or len(text) > 512 or text != text.strip() or not text.isprintable():  # noqa: PLR2004 - said in the docstring
        raise BadInput(
            f"{text[:60]!r} can't be {a(what)}: use 1 to 512 printable characters on one line, "
            "without spaces at the ends"
        )
    return text


def turn_name(turn_id: str) -> str:
    """A turn's id, as far as it is a text."""
    if turn_id is None:
        raise BadInput("a turn's id is expected, not None: a session without turns has no head")
    if not isinstance(turn_id, str):
        raise BadInput(f"a turn's id must be text, not {type(turn_id).__name__}: pass it as the ledger gave it")
    return turn_id


def a(what: str) -> str:
    """A thing with its article: a label, an alias."""
    return f"an {what}" if what[:1] in "aeiou" else f"a {what}"


def key(text: str | None, what: str) -> str | None:
    """A text without bytes beside it: the same in both databases, so nothing that a column can't hold."""
    if text is not None and (not isinstance(text, str) or readable(text)[1] is not None):
        raise BadInput(f"{str(text)[:60]!r} can't be {a(what)}: pass text without NUL and lone surrogates")
    return text


def choice(value: str, allowed: tuple[str, ...], what: str) -> str:
    """A word out of a closed list."""
    if value not in allowed:
        known = ", ".join(allowed)
        raise BadInput(f"{label(value, what)!r} is not one of those allowed as {a(what)}: use one of {known}")
    return value


def names(tools: Iterable[str] | None) -> tuple[str, ...] | None:
    """The names of tools; one text is no list of them, though it can be read letter by letter."""
    if tools is None:
        return None
    if isinstance(tools, Iterable) and not isinstance(tools, str):
        found = tuple(tools)
        if all(isinstance(tool, str) for tool in found):
            return found
    raise BadInput('tools must be a list of names: pass ["Read"], not "Read"')


def integer(value: int | None, what: str) -> int | None:
    """A whole number that fits the 64 bits of a column."""
    if value is None:
        return None
    if not isinstance(value, int):
        raise BadInput(f"{what} must be a whole number, not {str(value)[:40]}")
    if not _MIN_INT <= value <= _MAX_INT:
        # Not shown: Python refuses to print whole numbers of more than 4,300 digits.
        raise BadInput(f"{what} must be a whole number of at most 64 bits, not one of {value.bit_length()}")
    return int(value)


def limit(value: int, what: str = "limit") -> int:
    """How many of something at most: the same on both databases, which take other numbers each in its own way."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadInput(f"{a(what)} must be a whole number of at least 0, not {type(value).__name__}")
    if value < 0:
        raise BadInput(f"{a(what)} must be a whole number of at least 0, not a negative one")
    return min(value, _EVERYTHING)


def question(text: str, what: str) -> str:
    """A text that asks for something."""
    if not isinstance(text, str):
        raise BadInput(f"{a(what)} must be text, not {type(text).__name__}")
    return text


def json_text(value: Any, what: str) -> tuple[str, bytes | None]:
    """JSON as text, and the original bytes where valid JSON can't say it (NaN, infinities).

    `msgspec.Raw` is taken as JSON that is encoded already, byte for byte.
    """
    if isinstance(value, msgspec.Raw):
        return _raw_json(bytes(value), what)
    try:
        encoded = msgspec.json.encode(value)
        written = encoded.decode()
    except (OverflowError, UnicodeEncodeError, TypeError, RecursionError, ValueError):
        return _as_valid(_careful_json(value, what))
    if not isinstance(value, str) and b"null" in encoded and not _is_finite(value):
        # msgspec writes NaN as null: keep what was meant.
        return written, _careful_json(value, what, allow_nan=True).encode()
    return written, None


def _careful_json(value: Any, what: str, *, allow_nan: bool = False) -> str:
    """JSON by the standard library: slower, but takes large numbers and writes lone surrogates as escapes."""
    try:
        return json.dumps(value, allow_nan=allow_nan, separators=(",", ":"), default=_inner_json)
    except (TypeError, ValueError, RecursionError) as problem:
        if not allow_nan and "Out of range float" in str(problem):
            return _careful_json(value, what, allow_nan=True)
        raise BadInput(f"{what} can't be written as JSON ({problem}): pass plain JSON values") from None


def _inner_json(value: Any) -> Any:
    """JSON that is encoded already, inside of other JSON."""
    if isinstance(value, msgspec.Raw):
        return read_json(_raw_json(bytes(value) or b"null", "it")[0])
    raise TypeError(f"{type(value).__name__} is no JSON")


def _as_valid(text: str) -> tuple[str, bytes | None]:
    """The standard library's JSON without NaN and infinities, and the text with them if there were any."""
    if not any(word in text for word in ("NaN", "Infinity")):
        return text, None
    value = json.loads(text, parse_constant=lambda _: None)
    try:
        view = msgspec.json.encode(value).decode()
    except (OverflowError, UnicodeEncodeError, RecursionError):
        view = json.dumps(value, separators=(",", ":"))
    return (text, None) if view == text else (view, text.encode())


def _raw_json(raw: bytes, what: str) -> tuple[str, bytes | None]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return json.dumps(raw.decode("utf-8", "replace")), raw
    if not text:
        raise BadInput(f"{what} is empty: JSON has at least one character")
    try:
        msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return _loose_json(text, raw)
    except RecursionError:
        pass  # nested deeper than any reader goes, but kept as it is
    return text, None


def _loose_json(text: str, raw: bytes) -> tuple[str, bytes | None]:
    """What the standard library takes as JSON (lone surrogates as escapes, NaN); all else as a text."""
    try:
        json.loads(text)
        return _as_valid(text)
    except (ValueError, RecursionError):
        return json.dumps(readable(text)[0], ensure_ascii=False), raw


def read_json(text: str) -> Any:
    """The value of a JSON column; the text itself where it is nested too deep to read."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)  # lone surrogates, written as escapes
    except RecursionError:
        return text


def _is_finite(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return False
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return True
