"""Older transcripts as version 3, as pi brings them up to date when it opens them; but the same ids each time."""

import hashlib
from collections.abc import Sequence
from typing import Any

from agents_ledger.formats.pi.entries import VERSION, line
from agents_ledger.formats.pi.fields import number, object_of, word

Json = dict[str, Any]


def migrated(lines: Sequence[bytes]) -> list[bytes] | None:
    """The lines of version 3; None if they are so already (or newer), or if there is no header."""
    told = [entry for each in lines if (entry := object_of(each)) is not None]
    header = told[0] if told else None
    if header is None or header.get("type") != "session":
        return None
    version = number(header.get("version")) or 1
    if version >= VERSION:
        return None
    if version == 1:
        _linked(told)
    for entry in told:
        said = entry.get("message")
        if isinstance(said, dict) and said.get("role") == "hookMessage":
            said["role"] = "custom"
    header["version"] = VERSION
    return [line(entry) for entry in told]


def _linked(told: list[Json]) -> None:
    """Version 1 has no ids: each entry follows the one before it."""
    session = word(told[0].get("id")) or ""
    before: str | None = None
    taken: set[str] = set()
    for at, entry in enumerate(told):
        if entry.get("type") == "session":
            continue
        name = hashlib.sha256(f"{session}\x1f{at}".encode("utf-8", "surrogatepass")).hexdigest()
        entry["id"] = name if name[:8] in taken else name[:8]
        taken.add(entry["id"])
        entry["parentId"], before = before, entry["id"]
    for entry in told:
        first = number(entry.pop("firstKeptEntryIndex", None)) if entry.get("type") == "compaction" else None
        if first is not None and 0 < first < len(told):
            entry["firstKeptEntryId"] = told[first]["id"]
