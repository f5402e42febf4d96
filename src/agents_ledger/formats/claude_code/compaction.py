"""Compaction: a boundary line says when and how, the summary comes as the user message after it."""

from typing import Any

from msgspec import Struct

from agents_ledger.formats.claude_code.lines import plain
from agents_ledger.model.texts import storable

_TRIGGERS = {"manual": "manual", "auto": "context_limit"}
_KNOWN = ("trigger", "preTokens", "postTokens", "durationMs", "preservedSegment", "preservedMessages")
_LIMIT = 1 << 63


class Boundary(Struct):
    """A boundary that waits for its summary."""

    session: str
    fields: dict[str, Any] = {}


def boundary(session: str, metadata: Any) -> Boundary:
    """What `compactMetadata` says, as fields of the compaction."""
    value, _ = plain(metadata)
    if not isinstance(value, dict):
        return Boundary(session)
    fields: dict[str, Any] = {
        "tokens_before": _count(value.get("preTokens")),
        "tokens_after": _count(value.get("postTokens")),
        "duration_ms": _count(value.get("durationMs")),
        "kept": _kept(value.get("preservedMessages")),
    }
    trigger = value.get("trigger")
    if isinstance(trigger, str):
        fields["trigger"] = _TRIGGERS.get(trigger) or storable(trigger)
    segment = value.get("preservedSegment")
    head = segment.get("headUuid") if isinstance(segment, dict) else None
    if fields["kept"] is None and isinstance(head, str):
        fields["first_kept"] = storable(head)
    fields["metadata"] = _rest(value) or None
    return Boundary(session, {key: item for key, item in fields.items() if item is not None})


def _kept(preserved: Any) -> list[str] | None:
    """The ids of exactly those lines that stay in context."""
    uuids = preserved.get("uuids") if isinstance(preserved, dict) else None
    return [storable(uuid) for uuid in uuids if isinstance(uuid, str)] if isinstance(uuids, list) else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _LIMIT else None


def _rest(value: dict[str, Any]) -> dict[str, Any]:
    """What else the boundary says, as far as it is small."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        if key in _KNOWN:
            continue
        if isinstance(item, str):
            found[storable(key)] = storable(item)
        elif isinstance(item, bool) or _count(item) is not None:
            found[storable(key)] = item
    return found
