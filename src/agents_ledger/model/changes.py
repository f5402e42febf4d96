"""What a tool call changed in files, as lines of a diff, whatever the agent's way of saying so.

Agents say it in their parameters (a text and what replaces it, a whole file, a patch), in their results (a diff), or in
what they keep beside them (Claude Code's `structuredPatch`, pi's `details.diff`). The last tells most: line numbers,
and what a file was before it was written over.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Literal

from msgspec import Struct

Kind = Literal["added", "changed", "deleted", "moved"]
Sign = Literal[" ", "+", "-", "@"]
_CONTEXT_LINES = 3
_MOST_LINES = 4000  # of two texts that are compared; above, one stands whole after the other
_PATHS = ("file_path", "path", "filePath", "filename", "target_file", "notebook_path")
_OLD = ("old_string", "old", "oldText", "old_str", "oldString", "old_text")
_NEW = ("new_string", "new", "newText", "new_str", "newString", "new_text", "new_source")
_WHOLE = ("content", "file_text", "contents")
_WRITERS = re.compile(r"(?:^|[_.])(?:write|create)(?:_?file)?$", re.IGNORECASE)
_BEGIN = re.compile(r"\*\*\* Begin Patch$", re.MULTILINE)
_END = "\n*** End Patch"
# Codex 0.98: scripts that call apply_patch. (A string without an end matches, too: see `lines`.)
_QUOTED = re.compile(r'"\*\*\* Begin Patch\\n[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_HEAD = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = "*** Move to: "
_NUMBERED = re.compile(r"([ +-])\s*(\d+) ?(.*)", re.DOTALL)
_KINDS: dict[str, Kind] = {"Add": "added", "Update": "changed", "Delete": "deleted"}


class Line(Struct, frozen=True):
    """A line of a diff: kept, added, removed, or (`@`) where the next lines are."""

    sign: Sign
    text: str


class Change(Struct, frozen=True):
    """What happened to one file."""

    path: str
    kind: Kind
    lines: list[Line]
    moved_to: str | None = None

    @property
    def added(self) -> int:
        """How many lines came."""
        return sum(line.sign == "+" for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines went."""
        return sum(line.sign == "-" for line in self.lines)


def changes(tool: str, params: Any, result: Any = None, beside: Any = None) -> list[Change]:
    """What a call changed: by what its agent kept beside it, else by its result, its parameters."""
    path = _text(params, _PATHS)
    told = _told(beside, path) or _told(result, path)
    if told:
        return told
    if isinstance(params, str):
        return list(_patched(params))
    if not isinstance(params, Mapping):
        return []
    if path is not None:
        return _edited(path, params) or _written(tool, path, params)
    return [change for value in params.values() for text in _texts(value) for change in _patched(text)]


def _told(value: Any, path: str | None) -> list[Change]:
    """What an agent itself says about the difference."""
    if not isinstance(value, Mapping):
        return []
    place = _text(value, _PATHS) or path or "?"
    hunks = value.get("structuredPatch")
    if isinstance(hunks, list) and hunks:
        return [Change(place, "changed", [line for hunk in hunks for line in _hunk(hunk)])]
    details = value.get("details")
    diff = value.get("diff", details.get("diff") if isinstance(details, Mapping) else None)
    lines = list(_diff_lines(diff)) if isinstance(diff, str) else []
    return [Change(place, "changed", lines)] if any(line.sign in "+-" for line in lines) else []


def _hunk(hunk: Any) -> Iterator[Line]:
    if not isinstance(hunk, Mapping) or not isinstance(hunk.get("lines"), list):
        return
    yield Line("@", f"-{hunk.get('oldStart')},{hunk.get('oldLines')} +{hunk.get('newStart')},{hunk.get('newLines')}")
    for line in hunk["lines"]:
        if isinstance(line, str) and not line.startswith("\\"):
            yield _signed(line)


def _diff_lines(diff: str) -> Iterator[Line]:
    """A diff as text: unified, or pi's with numbers (`-  87 old`, `   88 kept`, `...`)."""
    lines = diff.splitlines()
    is_numbered = all(_NUMBERED.fullmatch(line) or line.strip() in ("", "...") for line in lines)
    for line in lines:
        if is_numbered:
            found = _NUMBERED.fullmatch(line)
            yield Line("@", "") if found is None else _signed(found[1] + found[3])
        elif not line.startswith(("--- ", "+++ ", "diff ", "index ", "\\")):
            yield Line("@", line.strip("@ ")) if line.startswith("@@") else _signed(line)


def _edited(path: str, params: Mapping[str, Any]) -> list[Change]:
    """One replacement, or a list of them."""
    edits = params.get("edits")
    pairs = [each for each in edits if isinstance(each, Mapping)] if isinstance(edits, list) else [params]
    lines: list[Line] = []
    for each in pairs:
        old, new = _text(each, _OLD), _text(each, _NEW)
        if new is not None or old is not None:
            lines += [Line("@", "")] if lines else []
            lines += compared(old or "", new or "")
    return [Change(path, "changed", lines)] if lines else []


def _written(tool: str, path: str, params: Mapping[str, Any]) -> list[Change]:
    """A whole file; what it was before, nobody says."""
    whole = _text(params, _WHOLE)
    if whole is None or not _WRITERS.search(tool):
        return []
    return [Change(path, "added", [Line("+", line) for line in whole.splitlines()])]


def _patched(text: str) -> Iterator[Change]:
    """The files of `*** Begin Patch … *** End Patch`, wherever it stands in a text (a command, a script)."""
    for patch in _patches(text) if "*** Begin Patch" in text else ():
        path, kind, moved, lines = "", "changed", None, list[Line]()
        for line in patch.splitlines():
            head = _HEAD.fullmatch(line)
            if head is not None or line.startswith("*** End Patch"):
                if path:
                    yield _change(path, kind, moved, lines)
                path, kind = (head[2].strip(), _KINDS[head[1]]) if head else ("", "changed")
                moved, lines = None, []
            elif line.startswith(_MOVE):
                moved = line.removeprefix(_MOVE).strip()
            elif line.startswith("@@"):
                lines.append(Line("@", line.removeprefix("@@").strip()))
            elif path and not line.startswith("*** "):
                lines.append(_signed(line))
        if path:  # cut off
            yield _change(path, kind, moved, lines)


def _patches(text: str) -> Iterator[str]:
    for quoted in _QUOTED.finditer(text):
        with suppress(ValueError):  # JavaScript's strings are not quite JSON's
            yield str(json.loads(quoted[0], strict=False))
    end = 0
    while begin := _BEGIN.search(text, end):
        found = text.find(_END, begin.end())
        end = len(text) if found < 0 else found + len(_END)
        yield text[begin.start() : end]


def _change(path: str, kind: str, moved: str | None, lines: list[Line]) -> Change:
    known: Kind = "added" if kind == "added" else "deleted" if kind == "deleted" else "moved" if moved else "changed"
    return Change(path, known, lines, moved)


def compared(old: str, new: str) -> list[Line]:
    """The lines of two texts, against each other."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_LINES:
        return [*(Line("-", line) for line in before), *(Line("+", line) for line in after)]
    found: list[Line] = []
    for line in islice(difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm=""), 2, None):  # after the names
        if line.startswith("@@"):
            found += [Line("@", "")] if found else []
        else:
            found.append(_signed(line))
    return found


def _signed(line: str) -> Line:
    if line[:1] == "+":
        return Line("+", line[1:])
    return Line("-", line[1:]) if line[:1] == "-" else Line(" ", line[1:] if line[:1] == " " else line)


def _text(value: Any, names: Iterable[str]) -> str | None:
    if not isinstance(value, Mapping):
        return None
    return next((found for name in names if isinstance(found := value.get(name), str)), None)


def _texts(value: Any) -> list[str]:
    """The texts of a parameter: itself, or the words of a command."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
