"""Time: Unix milliseconds inside, ISO 8601 for people."""

import re
import time
from datetime import UTC, date, datetime, timedelta, tzinfo

from agents_ledger.errors import BadInput

# (texts, as most programs never read a time: `re` compiles each when it is first used, and keeps it)
_AGO = r"(\d+)\s*(s|m|h|d|w)(?:\s*ago)?"
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DIGITS_OF_MS = 12
_DATE = r"\d{4}-\d\d-\d\d"
_MONTH = r"([12]\d{3})(?:-(\d\d))?"
_DAYS = {"today": 0, "yesterday": 1}
LAST_MS = 253_402_300_799_999  # the end of the year 9999


def now_ms() -> int:
    """The wall clock, in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def elapsed_ms() -> int:
    """Milliseconds since this machine was started (on Linux and macOS): nobody can set this clock."""
    return time.monotonic_ns() // 1_000_000


def iso(at_ms: int | None) -> str | None:
    """`2026-11-15T20:53:02.120Z`; None for an unknown time."""
    if at_ms is None:
        return None
    try:
        seconds, rest = divmod(at_ms, 1000)  # (a float is not exact to the millisecond in far years)
        moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)
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


def parse(text: str, now: int, zone: tzinfo | None = None) -> int:
    """Unix ms from `2026-11`, `2026-11-15`, `2026-11-15T20:53`, `3h`, `2d ago`, `yesterday`, `now`, a number (s or ms).

    Times without a zone are the reader's own, or those of a zone that is given.
    """
    return _span(text.strip(), now, zone)[0]


def parse_end(text: str, now: int, zone: tzinfo | None = None) -> int:
    """Unix ms where a time ends, itself included: of `2026-11-15` and `yesterday` the whole day belongs to it."""
    return _span(text.strip(), now, zone)[1]


def _span(text: str, now: int, zone: tzinfo | None) -> tuple[int, int]:
    """The first ms of a time, and the first one behind it."""
    try:
        if text in _DAYS:
            return _day(datetime.fromtimestamp(now / 1000, zone).date() - timedelta(days=_DAYS[text]), zone)
        if re.fullmatch(_DATE, text):
            return _day(date.fromisoformat(text), zone)
        if month := re.fullmatch(_MONTH, text):
            return _month(int(month[1]), None if month[2] is None else int(month[2]), zone)
        at = _moment(text, now, zone)
    except (ValueError, OverflowError, OSError):
        raise BadInput(
            f"{text[:60]!r} is not a time: write 2026-11-15, 2026-11, 2026-11-15T20:53, '2d ago' or Unix seconds"
        ) from None
    return at, at + 1


def _month(year: int, month: int | None, zone: tzinfo | None) -> tuple[int, int]:
    """A month, or a year if none is given."""
    first = date(year, 1 if month is None else month, 1)
    behind = date(year + 1, 1, 1) if month in (None, 12) else date(year, month + 1, 1)
    return _day(first, zone)[0], _day(behind, zone)[0]


def _day(day: date, zone: tzinfo | None) -> tuple[int, int]:
    """From midnight to midnight, also where the clock is changed in between."""
    begins, ends = (datetime(each.year, each.month, each.day) for each in (day, day + timedelta(days=1)))  # noqa: DTZ001 - placed below
    return _placed_ms(begins, zone), _placed_ms(ends, zone)


def _moment(text: str, now: int, zone: tzinfo | None) -> int:
    if text == "now":
        return now
    if text.isdecimal():
        return min(int(text) if len(text) >= _DIGITS_OF_MS else int(text) * 1000, LAST_MS)
    if ago := re.fullmatch(_AGO, text):
        return now - int(timedelta(**{_UNITS[ago[2]]: int(ago[1])}).total_seconds() * 1000)
    return _placed_ms(datetime.fromisoformat(text), zone)


def _placed_ms(moment: datetime, zone: tzinfo | None) -> int:
    if moment.tzinfo is None:
        moment = moment.astimezone() if zone is None else moment.replace(tzinfo=zone)
    return round(moment.timestamp() * 1000)
