"""What Gemini CLI's files look like, wherever they are."""

import re

from agents_ledger.model.formats import Kind

_ENDINGS = (".json", ".jsonl")
_HEADER = re.compile(rb'\s*\{\s*"sessionId"\s*:\s*"[^"]{1,200}"\s*,\s*"projectHash"\s*:\s*"[^"]{0,200}"\s*[,}]')
_LOGS = re.compile(rb'\s*\[\s*\{\s*"sessionId"\s*:\s*"[^"]{1,200}"\s*,\s*"messageId"\s*:\s*\d+\s*,')
_SAVED = re.compile(rb'\s*(?:\{\s*"history"\s*:\s*)?\[\s*\{\s*"role"\s*:\s*"user"\s*,\s*"parts"\s*:\s*\[')
_SAVED_NAME = re.compile(r"/checkpoint-[^/]*\.json$")
_IMPORTED = b'\n{"id":"import-'  # a copy, which says less than its origin
_SURE, _KNOWN = 90, 5
_EARLY, _USUAL, _LATER, _LATE = 40, 50, 60, 95


def recognise(path: str, head: bytes) -> Kind | None:
    """What a file is, by its first bytes; the name only makes us surer."""
    path = path.replace("\\", "/")
    if _HEADER.match(head):
        score = _SURE + (_KNOWN if "/chats/" in path and path.endswith(_ENDINGS) else 0)
        is_log = not path.endswith(".json") and head.lstrip().partition(b"\n")[0].rstrip().endswith(b"}")
        if not is_log:
            return Kind("record", "document", score, _EARLY)
        return Kind("log", "lines", score, _LATER if _IMPORTED in head else _USUAL)
    if _LOGS.match(head):
        return Kind("prompts", "document", _SURE, _LATE)
    if _SAVED.match(head) and _SAVED_NAME.search(path):
        return Kind("checkpoint", "document", _SURE, _LATE)
    return None
