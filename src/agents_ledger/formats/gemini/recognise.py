"""Recognise Gemini CLI's files by their keys, wherever they lie."""

import re

from agents_ledger.model.formats import Kind
from agents_ledger.model.members import MARKS, Members, document, lines

_ENDINGS = (".json", ".jsonl")
_SAVED_NAME = re.compile(r"/checkpoint-[^/]*\.json$")
_IMPORTED = "import-"  # ids of a copy, which says less than its origin
_LONGEST = 200  # characters of an id
_SURE, _LIKELY, _KNOWN = 90, 60, 5
_EARLY, _USUAL, _LATER, _LATE = 40, 50, 60, 95


def recognise(path: str, head: bytes) -> Kind | None:
    """Give the kind of a file by its first bytes; a known name only raises the score."""
    path = path.replace("\\", "/")
    if head.lstrip(MARKS).startswith(b"["):
        return _list(path, document(head))
    score = _header_score(head)
    if score:
        score += _KNOWN if "/chats/" in path and path.endswith(_ENDINGS) else 0
        return _log(head, score) if _is_log(path, head) else Kind("record", "document", score, _EARLY)
    history = document(head).first("history")
    return _saved(path, history) if history.values else None


def _list(path: str, first: Members) -> Kind | None:
    """A file that is a list: of prompts, or of the messages of a saved conversation."""
    if _is_id(first, "sessionId") and first.is_number("messageId"):
        return Kind("prompts", "document", _SURE, _LATE)
    return _saved(path, first)


def _saved(path: str, first: Members) -> Kind | None:
    is_message = first.text("role") == "user" and first.is_list("parts")
    return Kind("checkpoint", "document", _SURE, _LATE) if is_message and _SAVED_NAME.search(path) else None


def _header_score(head: bytes) -> int:
    """How sure it is that a file begins with a session's header, alone in its line or with the messages."""
    whole = document(head)
    if _is_header(whole) or (not whole.values and any(map(_is_header, lines(head)))):
        return _SURE
    # keys in alphabetical order: the header's other keys stand behind more messages than we were given
    is_session = whole.text("kind") in ("main", "subagent") and whole.is_text("lastUpdated")
    return _LIKELY if is_session and whole.is_cut and whole.is_list("messages") else 0


def _is_header(value: Members) -> bool:
    return _is_id(value, "sessionId") and value.is_text("projectHash")


def _is_id(value: Members, key: str) -> bool:
    return 0 < len(value.text(key) or "") <= _LONGEST


def _is_log(path: str, head: bytes) -> bool:
    """Whether a file is a log of lines: its first line is a whole object."""
    return not path.endswith(".json") and head.lstrip(MARKS).partition(b"\n")[0].rstrip().endswith(b"}")


def _log(head: bytes, score: int) -> Kind:
    is_imported = b'"import-' in head and any((line.text("id") or "").startswith(_IMPORTED) for line in lines(head))
    return Kind("log", "lines", score, _LATER if is_imported else _USUAL)
