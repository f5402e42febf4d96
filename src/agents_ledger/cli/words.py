"""Numbers, times and sizes as people say them."""

import os
from datetime import datetime

from agents_ledger import config
from agents_ledger.cli.screen import Screen
from agents_ledger.model.times import iso, now_ms

_STEPS = ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"), (14 * 86_400, 86_400, "d"))
_SPANS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
_UNITS = ("B", "KB", "MB", "GB", "TB")
_KILO = 1024
_SECOND = 1000
_MINUTE = 60
_SHORT = 8


def short(turn_id: str) -> str:
    """The end of an id: enough to tell turns apart, and every command takes it."""
    return turn_id[-_SHORT:]


def quoted(label: str) -> str:
    """A label as it is typed in a shell, whatever is in it."""
    import shlex  # noqa: PLC0415 - only where a command is named

    return shlex.quote(label)


def named(label: str, *options: str) -> str:
    """A label behind its command, with options: one that looks like an option itself stands last, behind `--`."""
    return " ".join([*options, "--", quoted(label)] if label.startswith("-") else [quoted(label), *options])


def at_home(path: str) -> str:
    """A path as people write it: `~` for the home folder."""
    home = config.home_folder()
    return f"~{path[len(home) :]}" if path == home or path.startswith(home + os.sep) else path


def number(value: int | None) -> str:
    """`12,345`; a dash for what is not known."""
    return "-" if value is None else f"{value:,}"


def compact(value: int) -> str:
    """`1.2 M`: a large number for a narrow column."""
    for unit, word in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= unit:
            return f"{value / unit:.1f} {word}"
    return str(value)


def money(value: float | None) -> str:
    """`$12.34`; small sums with more digits, a dash for what is not known."""
    if value is None:
        return "-"
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def span(took_ms: float | None) -> str:
    """`340 ms`, `1.2 s`, `3 min 20 s`, `5 h 12 min`, `3 d 4 h`; a dash for what is not known."""
    if took_ms is None:
        return "-"
    if took_ms < _MINUTE * _SECOND:
        return f"{took_ms:.0f} ms" if took_ms < _SECOND else f"{took_ms / _SECOND:.1f} s"
    past = int(took_ms) // _SECOND
    unit, word, below, small = next(step for step in _SPANS if past >= step[0])
    rest = past % unit // below
    return f"{past // unit:,} {word}" + (f" {rest} {small}" if rest else "")


def plural(count: int, word: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def ago(at_ms: int | None, now: int | None = None) -> str:
    """`3 min ago`; the date if it is long ago."""
    if not at_ms:  # 0 is what a column without nulls holds for an unknown time
        return "-"
    past = ((now_ms() if now is None else now) - at_ms) // _SECOND
    if past < 0:
        return clock(at_ms)
    for below, unit, word in _STEPS:
        if past < below:
            return f"{past // unit} {word} ago"
    return clock(at_ms)[:10]


def clock(at_ms: int | None) -> str:
    """`2026-11-15 20:53:02`, where the reader is."""
    if not at_ms:
        return "-"
    try:
        return datetime.fromtimestamp(at_ms / _SECOND).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"


def when(at_ms: int | None, screen: Screen) -> str:
    """A time for a table: how long ago on a terminal, exact where it is piped."""
    return ago(at_ms) if screen.is_terminal else iso(at_ms or None) or "-"


def size(size_bytes: int) -> str:
    """`1.4 MB`."""
    value = float(size_bytes)
    for unit in _UNITS:
        if value < _KILO or unit == _UNITS[-1]:
            break
        value /= _KILO
    return f"{size_bytes} B" if unit == "B" else f"{value:.1f} {unit}"


def took(from_ms: int, to_ms: int | None) -> str | None:
    """How long something lasted, as `span` says it; None while it goes on."""
    return None if to_ms is None or to_ms <= from_ms else span(to_ms - from_ms)
