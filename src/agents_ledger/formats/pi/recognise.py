"""Whether a file is one of the family's, by its first lines; the name only helps."""

import re
from typing import Any

from agents_ledger.formats.pi.fields import object_of
from agents_ledger.formats.pi.names import is_database, is_index, is_old_index, is_other, name_of, origin_of
from agents_ledger.model.formats import Kind
from agents_ledger.model.members import MARKS, NONE, Members, document, lines

_LINES = 20  # a transcript may begin with broken lines
_KEYS = {  # type of entry → a field that others' entries of that type do not have
    "message": "message",
    "model_change": "modelId",
    "thinking_level_change": "thinkingLevel",
    "compaction": "summary",
    "branch_summary": "fromId",
    "custom": "customType",
    "custom_message": "customType",
    "label": "targetId",
    "session_info": "name",
    "context_edit": "targetId",
    "reset": "reason",
    "leaf": "targetId",
}
_ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "system")
_SESSION_ID = re.compile(rb"""["']?sessionId["']?\s*:\s*["']""")
_SESSION_KEY = re.compile(r"(?:agent|cron|hook|subagent|acp):|global$")
_FIRST_KEY = re.compile(rb"""\s*\{\s*["']([^"']{1,400})["']""")  # also of JSON5
_BOM = b"\xef\xbb\xbf"
_SQLITE = b"SQLite format 3\0"
_EVENTS = re.compile(rb"CREATE TABLE (?:IF NOT EXISTS )?transcript_events \(\s*session_id TEXT NOT NULL,\s*seq INTEGER")
_ORDERS = {"archive": 30, "checkpoint": 40, "transcript": 50}


def recognise(path: str, head: bytes) -> Kind | None:
    """What the file is, if it is ours."""
    if is_other(path):
        return None
    if head.startswith(_SQLITE):
        is_ours = is_database(path) or _EVENTS.search(head) is not None
        return Kind("database", "database", score=90, order=60) if is_ours else None
    head = head.lstrip(_BOM)
    if _is_cold(document(head)):
        return Kind("cold", "lines", score=95, order=_ORDERS["archive"])
    score = _index_score(path, head)
    if score:
        return Kind("index", "document", score=score, order=65 if is_old_index(path) else 70)
    score = _transcript_score(path, head)
    if not score:
        return None
    kind = name_of(path).kind
    return Kind(kind, "lines", score=score, order=_ORDERS[kind])


def _index_score(path: str, head: bytes) -> int:
    """How sure it is that this is sessions.json: session keys with their sessions."""
    if not head.lstrip(MARKS).startswith((b"{", b"/")):
        return 0
    named, keyed = is_index(path), _has_session_key(head)
    if keyed and _SESSION_ID.search(head):
        return 95 if named else 80
    if not named:
        return 0
    ours = origin_of(path) is not None
    if _SESSION_ID.search(head):
        return 80 if ours else 60
    return 50 if ours and head.strip() == b"{}" else 0


def _has_session_key(head: bytes) -> bool:
    """Whether one of the object's keys is a session key."""
    first = _FIRST_KEY.match(head)
    if first is not None and _SESSION_KEY.match(first[1].decode("utf-8", "replace")):
        return True
    return any(_SESSION_KEY.match(key) for key in document(head).values)


def _is_cold(line: Members) -> bool:
    """Whether a line is the header of a session that openclaw moved out of its database."""
    return line.text("kind") == "header" and line.is_number("version") and line.is_text("sessionId")


def _transcript_score(path: str, head: bytes) -> int:
    """How sure it is that these are lines of a transcript."""
    ours = origin_of(path) is not None or "/.pi/" in path.replace("\\", "/")
    found = [value for line in head.split(b"\n", _LINES)[:_LINES] if (value := object_of(line)) is not None][:2]
    if found:
        score = _line_score(found[0], ours=ours)
        # other agents have such headers as well, but not entries with such times
        return min(score, 60) if len(found) > 1 and not isinstance(found[1].get("timestamp"), str) else score
    cut = next(iter(lines(head)), NONE)
    if cut.is_cut and cut.text("type") == "message" and cut.has("id", "parentId"):
        return 60  # a first line that is longer than what we were given
    # clawdbot's sessions.compact and pi after it leave empty files behind
    return 20 if ours and not head.strip() and ".jsonl" in path else 0


def _line_score(value: dict[str, Any], *, ours: bool) -> int:
    kind = value.get("type")
    if kind == "session":
        sure = isinstance(value.get("id"), str) and isinstance(value.get("timestamp"), str)
        return 95 if sure else 60 if ours else 0
    if kind in ("user", "assistant"):  # the seed's shape; anywhere else these are Claude Code's
        return 95 if ours and isinstance(value.get("uuid"), str) else 0
    if not isinstance(kind, str) or _KEYS.get(kind) not in value:
        return 0
    if kind == "message":
        message = value["message"]
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            return 0
    dated, linked = isinstance(value.get("timestamp"), str), "parentId" in value
    return 70 if dated and linked else 60 if dated and kind in ("message", "compaction") else 55 if ours else 0
