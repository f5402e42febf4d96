"""Values out of Cursor's JSON, where any field may be missing or of any type."""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any
from urllib.parse import unquote

import msgspec

from agents_ledger.model.lines import values
from agents_ledger.model.steps import Problem
from agents_ledger.model.times import from_iso

_EARLIEST, _LATEST = 946_684_800_000, 4_102_444_800_000  # 2000 to 2100: outside it is no date (old timingInfo counts)
_WHOLE = 2**63
_DEPTH = 40
LARGE_CHARS = 65_536  # what is larger stays in the evidence and is only mentioned
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{4096}")  # (only from the start of a run: linear time)
# `blobEncryptionKey` and `speculativeSummarizationEncryptionKey` stand inside every composerData of Cursor 2 and 3.
_SECRET = re.compile(
    r"encryption_?key|secret|passw|credential|cookie|api_?key|(access|refresh|auth|id|session)_?token|bearer|private_?key",
    re.IGNORECASE,
)
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_DRIVE = re.compile(r"/[A-Za-z]:")


def is_secret(name: str) -> bool:
    """Whether a field's name says that its value is nobody's business."""
    return _SECRET.search(name) is not None


def decoded(record: bytes) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The JSON object of a row (None: there is none) and what is wrong with it."""
    problems: list[Problem] = []
    found: dict[str, Any] | None = None
    for value in values(record):
        if isinstance(value, Problem):
            problems.append(value)
        elif found is None and isinstance(value, dict):
            found = value
        elif value is not None:
            problems.append(Problem("not-an-object", type(value).__name__))
    return found, problems


def word(value: object) -> str:
    """What something calls itself; the type of it, if that is no text."""
    return value[:80] if isinstance(value, str) else type(value).__name__


def length(value: object) -> int:
    """About how large something is; 0 for what is nested without end."""
    try:
        return len(str(value))
    except RecursionError:
        return 0


def text(value: object) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def mapping(value: object) -> dict[str, Any]:
    """An object; an empty one for anything else. Some of Cursor's objects are JSON inside a string."""
    if isinstance(value, str) and value[:1] == "{":
        value = _inner(value)
    return value if isinstance(value, dict) else {}


def objects(value: object) -> Iterator[dict[str, Any]]:
    """The objects of a list."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def texts(value: object) -> Iterator[str]:
    """The texts of a list."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str) and item)


def whole(value: object) -> int | None:
    """A whole number that fits a column."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and (not isfinite(value) or value != int(value)):
        return None
    return int(value) if abs(value) < _WHOLE else None


def moment(value: object) -> int | None:
    """Unix ms from an ISO text or a number of milliseconds; None for whatever is no date."""
    if isinstance(value, str):
        at = from_iso(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and _EARLIEST <= value <= _LATEST:
        at = int(value)
    else:
        at = None
    return at if at is not None and _EARLIEST <= at <= _LATEST else None


def uuid_moment(name: str) -> int | None:
    """The time inside a UUID of version 7."""
    found = _UUID7.fullmatch(name)
    return moment(int(found[1] + found[2], 16)) if found else None


def file_path(value: object) -> str | None:
    """The path that a URI object (or a URI, or a path) stands for."""
    if isinstance(value, dict):
        for key in ("fsPath", "_fsPath", "external", "path"):
            if found := text(value.get(key)):
                return file_path(found)
        return None
    found = text(value)
    if found is None or not found.startswith("file://"):
        return found
    path = unquote(found.removeprefix("file://"))
    return path[1:] if _DRIVE.match(path) else path or None


def as_json(value: object) -> Any:
    """What a JSON text says, byte for byte; any other text or value as it is, without encoded images."""
    if isinstance(value, str):
        inner = _inner(value)
        if not isinstance(inner, dict | list):
            return _short(value)
        if _ENCODED.search(value) is None:
            try:
                return msgspec.Raw(value.encode())
            except UnicodeEncodeError:
                return value
        value = inner
    return lighter(value)


def lighter(value: object, depth: int = 0) -> Any:
    """A value as it is, but for encoded images, numbers that no column takes, and bottomless nesting."""
    if isinstance(value, dict | list) and depth >= _DEPTH:
        return "…"
    if isinstance(value, dict):
        return {str(key): lighter(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [lighter(item, depth + 1) for item in value]
    return _scalar(value)


def tidy(value: object, depth: int = 0) -> Any:
    """The same without what is empty and without secrets: None if nothing is left."""
    if isinstance(value, dict | list) and depth >= _DEPTH:
        return "…"
    if isinstance(value, dict):
        return {
            str(key): kept
            for key, item in value.items()
            if not is_secret(str(key)) and (kept := tidy(item, depth + 1)) is not None
        } or None
    if isinstance(value, list):
        return [kept for item in value if (kept := tidy(item, depth + 1)) is not None] or None
    return None if value == "" else _scalar(value)


def small(value: object) -> Any:
    """A tidy value; one that is too large for a column is only mentioned."""
    kept = tidy(value)
    if isinstance(kept, dict | list):
        size = _size(kept)
        return {"size_bytes": size} if size > LARGE_CHARS else kept
    return kept


def _size(value: object) -> int:
    try:
        return len(msgspec.json.encode(value))
    except UnicodeEncodeError:  # a lone surrogate
        return len(str(value))


def _scalar(value: object) -> Any:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < _WHOLE else str(value)
    return value


def _short(value: str) -> Any:
    """A text; of an encoded image only its size."""
    if len(value) >= 4096 and _ENCODED.search(value):  # noqa: PLR2004 - the pattern's own length
        return {"type": "data", "size_bytes": len(value) * 3 // 4}
    return value


def _inner(value: str) -> Any:
    """The JSON inside a text; None if there is none."""
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
