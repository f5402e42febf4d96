"""What Codex's files look like, wherever they are."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from agents_ledger.formats.codex.items import TYPES
from agents_ledger.model.formats import Kind

_KINDS = frozenset(
    ["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record"]
)
# as Codex writes it; also if the line (with the system prompt in it) is longer than what we may look at
_ENVELOPE = (
    rb'\{\s*"timestamp":\s*"[^"]{10,40}",\s*(?:"ordinal":\s*\d+,\s*)?'
    rb'"type":\s*"(session_meta|response_item|event_msg|turn_context|compacted|world_state|token_usage_record)",'
    rb'\s*"payload":\s*\{'
)
_FIRST = re.compile(rb"\0*\s*" + _ENVELOPE)
_BEHIND = re.compile(rb"\n\0*+[ \t\r\f\v]*+" + _ENVELOPE)
_ENDINGS = (".jsonl", ".jsonl.zst")
_WHOLE_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl$")
_PACKED = ".zst"
_LINES = 20
_LINE_BYTES = 32_768


def recognise(path: str, head: bytes) -> Kind | None:
    """What a file is, by its first lines; the name only makes us surer."""
    known = 8 if _is_named(path) else 0
    if not head and known and path.endswith(_PACKED):
        return Kind("rollout", "lines", 20)  # an archive that is broken: it is kept as it is
    if found := _FIRST.match(head):
        return Kind("rollout", "lines", (90 if found[1] == b"session_meta" else 70) + known)
    if _BEHIND.search(head):
        return Kind("rollout", "lines", 70 + known)  # behind something else: a rollout may begin with broken lines
    entries = list(_entries(head.split(b"\n", _LINES)[:_LINES]))
    if not entries and head and _WHOLE_NAME.search(path):
        return Kind("rollout", "lines", 20)  # all that we may look at is broken: nobody else gives such names
    return _by_entries(entries, known) if entries else None


def _is_named(path: str) -> bool:
    """Whether a file is called `…rollout-….jsonl`, packed or not."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return "rollout-" in name and name.endswith(_ENDINGS)


def _by_entries(entries: list[dict[str, object]], known: int) -> Kind | None:
    """The same for lines that were written in another way than Codex writes them, and for other files."""
    first = entries[0]
    kind = first.get("type") if isinstance(first.get("type"), str) else None
    if kind in _KINDS and isinstance(first.get("payload"), dict):
        return Kind("rollout", "lines", 80 + known)
    if _is_bare(entries):
        return Kind("rollout", "lines", 75 + known)
    if known and (kind in TYPES or "record_type" in first) and "payload" not in first:
        return Kind("rollout", "lines", 60)
    if set(first) == {"id", "thread_name", "updated_at"}:
        return Kind("index", "lines", 80, order=90)
    if set(first) == {"session_id", "ts", "text"} and isinstance(first["ts"], int):
        return Kind("history", "lines", 60, order=95)
    return None


def _is_bare(entries: list[dict[str, object]]) -> bool:
    """A rollout from before September 2025: a header without type, then bare items and marks of state."""
    first = entries[0]
    if "type" in first or not isinstance(first.get("id"), str) or not {"timestamp", "instructions"} <= set(first):
        return False
    rest = entries[1:]
    return all("record_type" in entry or entry.get("type") in tuple(TYPES) for entry in rest)


def _entries(lines: Iterable[bytes]) -> Iterator[dict[str, object]]:
    """The objects of the first lines; whatever else stands there is passed over."""
    for line in lines:
        if len(line) > _LINE_BYTES:
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
