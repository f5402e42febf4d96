"""How Cursor's files are recognised, and who reads which."""

import re

from agents_ledger.formats.cursor.rows import RowsReader
from agents_ledger.formats.cursor.store import StoreReader
from agents_ledger.formats.cursor.transcript import TextReader, TranscriptReader, session_of
from agents_ledger.model.formats import Kind, Reader, Source
from agents_ledger.model.members import MARKS, NONE, Members, document, lines
from agents_ledger.model.texts import storable

_SQLITE = b"SQLite format 3\0"
_STORE = re.compile(
    rb"CREATE TABLE (?:IF NOT EXISTS )?[\"'`]?blobs[\"'`]? ?\(\s*[\"'`]?id[\"'`]? TEXT PRIMARY KEY,\s*data BLOB"
)
_OTHERS = frozenset({"Code", "Code - Insiders", "VSCodium", "Windsurf", "Antigravity", "Trae", "Kiro", "Positron"})
_SURE, _LIKELY, _PERHAPS = 90, 80, 30
_LATE = 80  # transcripts repeat what the databases say better


def recognise(path: str, head: bytes) -> Kind | None:
    """What a file is, by its first bytes; by its path where they say nothing (all of a new database is in its WAL)."""
    path = path.replace("\\", "/")
    if head.startswith(_SQLITE):
        return _database(path, head)
    first = document(head)
    if not first.values:  # the first line may be broken
        first = next(iter(lines(head)), NONE)
    if _is_message(first) or (first.text("type") == "turn_ended" and "agent-transcripts" in path):
        return Kind("transcript", "lines", _SURE, _LATE, is_fallback=True, session=session_of(storable(path)) or "")
    if (
        head.lstrip(MARKS).startswith((b"user:\n", b"user:\r\n"))
        and path.endswith(".txt")
        and "agent-transcripts" in path
    ):
        return Kind("text", "document", _LIKELY, _LATE, is_fallback=True, session=session_of(storable(path)) or "")
    return None


def reader(source: Source) -> Reader:
    """The reader of a kind."""
    path = storable(source.path)
    if source.kind == "transcript":
        return TranscriptReader(path)
    if source.kind == "text":
        return TextReader(path)
    return StoreReader(path) if source.kind == "store" else RowsReader(path)


def _is_message(line: Members) -> bool:
    """Whether a line is a message of a transcript; Claude Code's and pi's have a type and ids beside it."""
    content = line.inside("message")
    is_said = line.text("role") in ("user", "assistant") and (content.is_list("content") or content.is_text("content"))
    return is_said and not any(line.has(key) for key in ("type", "uuid", "sessionId"))


def _database(path: str, head: bytes) -> Kind | None:
    name = path.rpartition("/")[2]
    if _STORE.search(head) or (name == "store.db" and "/.cursor/chats/" in path):
        return Kind("store", "database", _LIKELY if name == "store.db" else _PERHAPS)
    ours = b"cursorDiskKV" in head
    if not ours and not (name == "state.vscdb" and _OTHERS.isdisjoint(path.split("/"))):
        return None
    kind = "workspace" if "/workspaceStorage/" in path or not ours else "global"
    return Kind(kind, "database", _SURE if ours else _LIKELY if "cursor" in path.lower() else _PERHAPS)
