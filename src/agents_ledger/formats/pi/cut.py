"""A transcript without its first lines: what the gateway's `sessions.compact` should leave behind, and did not.

clawdbot kept the last lines as they were: without the header, so that pi emptied the file, and with parents that were
gone. Here they stay byte for byte as well, but the header is before them, and so is what the conversation still needs:
the settings in effect and the newest summary. Each entry that is cut away and referred to leaves a line of its name.
"""

from collections.abc import Sequence
from typing import Any

from agents_ledger.formats.pi import entries
from agents_ledger.formats.pi.fields import moment, object_of, word
from agents_ledger.formats.pi.tree import path_to

Json = dict[str, Any]
_SETTINGS = ("model_change", "thinking_level_change", "session_info", "compaction")


def cut(lines: Sequence[bytes], keep: int, archive: str) -> list[bytes] | None:
    """The header and the last `keep` lines, as a sound transcript; None if there is nothing to cut away.

    It is longer where the last turn or the context need it, and shorter where it would begin with a tool's result.
    """
    known = [(line, object_of(line) or {}) for line in lines]
    header = next((line for line, entry in known if entry.get("type") == "session"), None)
    body = {entry["id"]: line for line, entry in known if entry.get("type") != "session" and word(entry.get("id"))}
    told = {entry["id"]: entry for _, entry in known if entry.get("id") in body}
    start = len(body) - max(keep, 1)
    if header is None or start <= 0:
        return None
    names = list(body)
    path = path_to({name: word(entry.get("parentId")) for name, entry in told.items()}, names[-1])
    start = _sound_start(names, start, path, told)
    if not start:
        return None
    rest = dict.fromkeys(names[start:])
    past = [name for name in path if name not in rest]
    written = _bridged(_needed(past, told), [name for name in path if name in rest], told, archive)
    for name in rest:
        parent = word(told[name].get("parentId"))
        if parent is not None and parent not in rest and parent not in written:
            written[parent] = _stand_in(told.get(parent), parent, None, archive)
    spoken = {told[name].get("sessionId") for name in rest}
    headers = [line for line, entry in known if entry.get("type") == "session" and entry.get("id") in spoken]
    lines_of_past = (line or body[name] for name, line in written.items())
    return [header, *(line for line in headers if line != header), *lines_of_past, *(body[name] for name in rest)]


def _sound_start(names: list[str], start: int, path: list[str], told: dict[str, Json]) -> int:
    """Where to begin so that the last turn stays whole, and no result is first whose call is gone."""
    on_path = set(path)
    said = {at: _role(told[name]) for at, name in enumerate(names) if name in on_path and _role(told[name])}
    asked = max((at for at, role in said.items() if role == "user"), default=None)
    if asked is not None and asked <= start:
        return asked
    first = next((at for at, role in said.items() if at >= start and role != "toolResult"), None)
    if first is not None:
        return max((at + 1 for at in said if start <= at < first), default=start)
    # nothing but results: the call that they are of stays, too
    return max((at for at, role in said.items() if at < start and role != "toolResult"), default=0) if said else start


def _role(entry: Json) -> str | None:
    said = entry.get("message")
    return word(said.get("role")) if isinstance(said, dict) else None


def _needed(past: list[str], told: dict[str, Json]) -> list[str]:
    """Of the entries on the path that are cut away, those that still count: the last one of each kind of setting."""
    last = {told[name].get("type"): name for name in past}
    wanted = {last[kind] for kind in _SETTINGS if kind in last}
    return [name for name in past if name in wanted]


def _bridged(needed: list[str], path: list[str], told: dict[str, Json], archive: str) -> dict[str, bytes | None]:
    """What stays of the past as one chain up to the path: entries (None: as they are) and stand-ins for others."""
    written: dict[str, bytes | None] = {}
    before: str | None = None

    def lead_to(parent: str | None) -> None:
        nonlocal before
        if parent is not None and parent != before and parent not in written:
            written[parent] = _stand_in(told.get(parent), parent, before, archive)
            before = parent

    for name in needed:
        lead_to(word(told[name].get("parentId")))
        written[name] = None
        before = name
    kept = {word(told[name].get("firstKeptEntryId")) for name in path if told[name].get("type") == "compaction"}
    for name in told:
        if name in kept and name not in path and name not in written:
            lead_to(name)
    lead_to(word(told[path[0]].get("parentId")))
    return written


def _stand_in(entry: Json | None, name: str, parent: str | None, archive: str) -> bytes:
    at = moment((entry or {}).get("timestamp")) or 0
    return entries.line(entries.stand_in(entries.Place(name, parent, at), archive))
