"""Single values out of lines that nobody promised anything about."""

import hashlib
from typing import Any

import msgspec
from msgspec import Raw

from agents_ledger.model.entries import Usage
from agents_ledger.model.lines import values
from agents_ledger.model.steps import Problem
from agents_ledger.model.times import from_iso

_MAX_INT = (1 << 63) - 1
_MAX_WORD = 4096
_MAX_AT = 253_402_300_799_999  # the end of the year 9999


def word(value: object) -> str | None:
    """An id or a name: a text that is not empty, not endless and can be written down again."""
    if not isinstance(value, str) or not value or len(value) > _MAX_WORD:
        return None
    return value if value.isascii() or _writable(value) else None


def _writable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return True


def number(value: object) -> int | None:
    """A whole number from 0 to 2^63 - 1 (JavaScript may write it as 5.0)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MAX_INT else None


def moment(value: object) -> int | None:
    """Unix ms: from ISO 8601 (entries) or from ms (messages, the index)."""
    at = from_iso(value) if isinstance(value, str) else number(value)
    return at if at is not None and 0 <= at <= _MAX_AT else None


def usage_of(value: object) -> Usage | None:
    """Pi's usage: its input is without cache, its output includes reasoning."""
    if not isinstance(value, dict):
        return None
    usage = Usage(
        input=number(value.get("input")),
        output=number(value.get("output")),
        cached=number(value.get("cacheRead")),
        cache_write=number(value.get("cacheWrite")),
        reasoning=number(value.get("reasoning")),
        total=number(value.get("totalTokens")),
    )
    return None if usage == Usage() else usage


def digest(*parts: str | float | None) -> str:
    """What tells texts and numbers apart, wherever they were copied to.

    pi's ids do not: they have 8 digits, and a file of version 1 gets new random ones whenever it is opened.
    """
    text = "\x1f".join("" if part is None else str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def usage_key(usage: Usage | None, *parts: str | int | None) -> str | None:
    """The call to the model behind a usage: the same in copies of its entry."""
    if usage is None:
        return None
    return "pi:" + digest(*parts, usage.input, usage.output, usage.cached, usage.cache_write, usage.total)


def kept(value: Any) -> Any:
    """JSON that outlives its line: a copy of the raw bytes, or the value; None for nothing."""
    if not isinstance(value, Raw):
        return value
    data = bytes(value)
    if not data or data.isascii() or _is_text(data):
        return Raw(data) if data else None
    # msgspec takes a Raw without a look at its texts: read with replacement characters, then
    return next((item for item in values(data) if not isinstance(item, Problem)), None)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def plain(value: Any) -> Any:
    """JSON to stand inside other JSON: decoded; None for nothing and for what can't be."""
    if not isinstance(value, Raw):
        return value
    try:
        return msgspec.json.decode(value) if value else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def present(**values: Any) -> dict[str, Any] | None:
    """Those of the values that are there; None for none."""
    return given(**values) or None


def given(**values: Any) -> dict[str, Any]:
    """Those of the values that are there."""
    return {key: value for key, value in values.items() if value is not None}


def object_of(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line, if it is one."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
