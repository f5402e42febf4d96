"""What a call changes in files, and texts that are diffs, as lines to be coloured."""

from typing import Any

from agents_ledger.model.changes import Line, changes

_STARTS = ("*** Begin Patch", "diff --git ", "--- ", "@@ ")
_PLACES = ("@@", "***", "diff ", "index ", "--- ", "+++ ")


def diff_of(tool: str, params: Any) -> list[Line]:
    """The lines that a call's parameters change, each file behind its name; nothing if they don't say so."""
    found: list[Line] = []
    for change in changes(tool, params):
        moved = f" → {change.moved_to}" if change.moved_to else ""
        found += [Line("@", f"{change.kind}: {change.path}{moved}"), *change.lines]
    return found


def marked(text: str) -> list[Line]:
    """The lines of a text, if it is a diff."""
    is_diff = text.lstrip().startswith(_STARTS) and ("\n+" in text or "\n-" in text)
    return [_line(line) for line in text.splitlines()] if is_diff else []


def _line(line: str) -> Line:
    if line.startswith(_PLACES):
        return Line("@", line)
    if line.startswith("+"):
        return Line("+", line[1:])
    return Line("-", line[1:]) if line.startswith("-") else Line(" ", line.removeprefix(" "))
