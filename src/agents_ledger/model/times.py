"""Time: Unix milliseconds inside, ISO 8601 for people."""

import re
import time
from datetime import UTC, datetime, timedelta

from agents_ledger.errors import BadInput

_AGO = re.compile(r"(\d+)\s*(s|m|h|d|w)(?:\s*ago)?")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DIGITS_OF_MS = 12


def now_ms() -> int:
    """The wall clock, in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def iso(at_ms: int | None) -> str | None:
    """`2026-11-15T20:53:02.120Z`; None for an unknown time."""
    if at_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso(text: object) -> int | None:
    """Unix ms from a source's ISO 8601 time (without a zone: UTC); None for whatever else it holds."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def parse(text: str, now: int) -> int:
    """Unix ms from `2026-11-15`, `2026-11-15T20:53`, `3h`, `2d ago`, `now`, or a number (s or ms)."""
    text = text.strip()
    if text == "now":
        return now
    if text.isdecimal():
        return int(text) if len(text) >= _DIGITS_OF_MS else int(text) * 1000
    if ago := _AGO.fullmatch(text):
        return now - int(timedelta(**{_UNITS[ago[2]]: int(ago[1])}).total_seconds() * 1000)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"{text!r} is not a time: write 2026-11-15, 2026-11-15T20:53, 90m, '2d ago' or Unix seconds"
        ) from None
    if moment.tzinfo is None:
        moment = moment.astimezone()
    return int(moment.timestamp() * 1000)
