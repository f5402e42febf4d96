"""What Codex's files look like, wherever they are."""

import re

from agents_ledger.formats.codex.items import TYPES
from agents_ledger.model.formats import Kind
from agents_ledger.model.members import MARKS, Members, lines

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


def recognise(path: str, head: bytes) -> Kind | None:
    """What a file is, by its first lines; the name only makes us surer."""
    whole, head = head, head if head[:1] == b"{" else head.lstrip(MARKS)
    known = 8 if _is_named(path) else 0
    if not whole and known and path.endswith(_PACKED):
        return Kind("rollout", "lines", 20)  # an archive that is broken: it is kept as it is
    if found := _FIRST.match(head):
        return Kind("rollout", "lines", (90 if found[1] == b"session_meta" else 70) + known)
    if _BEHIND.search(head):
        return Kind("rollout", "lines", 70 + known)  # behind something else: a rollout may begin with broken lines
    entries = lines(head)[:_LINES]
    if not entries and whole and _WHOLE_NAME.search(path):
        return Kind("rollout", "lines", 20)  # all that we may look at is broken: nobody else gives such names
    return _by_entries(entries, known) if entries else None


def _is_named(path: str) -> bool:
    """Whether a file is called `…rollout-….jsonl`, packed or not."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return "rollout-" in name and name.endswith(_ENDINGS)


def _by_entries(entries: tuple[Members, ...], known: int) -> Kind | None:
    """The same for lines that were written in another way than Codex writes them, and for other files."""
    first = entries[0]
    kind = first.text("type")
    if kind in _KINDS and first.is_object("payload"):
        return Kind("rollout", "lines", 80 + known)
    if _is_bare(entries):
        return Kind("rollout", "lines", 75 + known)
    if known and (kind in TYPES or first.has("record_type")) and not first.has("payload"):
        return Kind("rollout", "lines", 60)
    if set(first.values) == {"id", "thread_name", "updated_at"}:
        return Kind("index", "lines", 80, order=90)
    if set(first.values) == {"session_id", "ts", "text"} and first.is_number("ts"):
        return Kind("history", "lines", 60, order=95)
    return None


def _is_bare(entries: tuple[Members, ...]) -> bool:
    """A rollout from before September 2025: a header without type, then bare items and marks of state."""
    first = entries[0]
    if first.has("type") or first.text("id") is None or not first.has("timestamp", "instructions"):
        return False
    return all(entry.has("record_type") or entry.is_cut or entry.text("type") in TYPES for entry in entries[1:])
