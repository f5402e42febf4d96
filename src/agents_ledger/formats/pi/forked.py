"""The entries of a fork: those on the way to a leaf as they are, and the bookmarks on them anew at the end.

pi 0.73 leaves out bookmarks that lie on the way and forgets what followed them; here that follows what was before.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agents_ledger.formats.pi import entries

Json = dict[str, Any]


def forked(path: Sequence[bytes], labels: Mapping[str, str]) -> list[bytes]:
    """The lines of a path (without the header) as those of a session of its own."""
    told = [msgspec.json.decode(each) for each in path]
    lines: list[bytes] = []
    names: list[str] = []
    moved = _around_bookmarks(told)
    for each, entry in zip(path, told, strict=True):
        if entry["type"] != "label":
            names.append(entry["id"])
            lines.append(entries.line({**entry, **moved[entry["id"]]}) if entry["id"] in moved else each)
    for target, text in labels.items():
        if target in names:
            mark = {"type": "label", "id": f"l-{target}", "parentId": names[-1], "timestamp": told[-1]["timestamp"]}
            lines.append(entries.line({**mark, "targetId": target, "label": text}))
            names.append(mark["id"])
    return lines


def _around_bookmarks(told: Sequence[Json]) -> dict[str, Json]:
    """What changes on entries that refer to bookmarks on the way: what they follow, and what they keep."""
    before: dict[str, str | None] = {}  # a bookmark → what it followed
    behind: dict[str, str] = {}  # a bookmark → what follows it
    for entry in told:
        parent = entry.get("parentId")
        if entry["type"] == "label":
            before[entry["id"]] = before.get(parent or "", parent)
        else:
            behind.update({mark: entry["id"] for mark in before if mark not in behind})
    moved: dict[str, Json] = {}
    for entry in told:
        if entry.get("parentId") in before:
            moved[entry["id"]] = {"parentId": before[entry["parentId"]]}
        if (kept := entry.get("firstKeptEntryId")) in before:
            moved.setdefault(entry["id"], {})["firstKeptEntryId"] = behind.get(kept, entry["id"])
    return moved
