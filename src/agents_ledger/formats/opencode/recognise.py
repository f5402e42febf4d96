"""What OpenCode's files look like, wherever they are."""

import re
from collections import deque

from agents_ledger.model.formats import Kind

_SQLITE = b"SQLite format 3\0"
_DATABASE = re.compile(r"/opencode(?:-[^/]*)?\.db$")
_PART = re.compile(
    rb"CREATE TABLE [\"`]?part[\"`]? ?\(\s*[\"`]?id[\"`]? text PRIMARY KEY,\s*[\"`]?message_id[\"`]?", re.IGNORECASE
)
_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
_SESSION = re.compile(rb'"(?:id|sessionID)"\s*:\s*"(ses_[A-Za-z0-9]{1,80})"')
# `storage/message/SESSION/MESSAGE.json`; in 2025 also `project/NAME/storage/session/message/SESSION/MESSAGE.json`
_TREE = re.compile(r"/storage(?=/(?:session/)?(info|session|message|part)/)")
_FILE = re.compile(r"(?:ses|msg|prt)_[A-Za-z0-9]+\.json")
_NAMED = re.compile(r"/(ses_[A-Za-z0-9]{1,80})(?:/|\.json$)")
_SURE, _LIKELY = 90, 80
_EARLY, _LATE = 40, 90  # a database goes on with what files began; exports repeat it


def recognise(path: str, head: bytes) -> Kind | None:
    """What a file is, by its first bytes; by its path where they say nothing (all of a new database is in its WAL)."""
    path = path.replace("\\", "/")
    if head.startswith(_SQLITE):
        is_ours = _PART.search(head) is not None
        return (
            Kind("database", "database", _SURE if is_ours else _LIKELY) if is_ours or _DATABASE.search(path) else None
        )
    if not head.lstrip().startswith(b"{"):
        return None
    found, named, session = _tree(path), _NAMED.search(path), _SESSION.search(head)
    if found is not None and (named or session):
        return Kind(found[1], "bundle", _SURE, _EARLY, group=named[1] if named else _text(session))
    if _EXPORT.match(head) and session is not None:
        return Kind("export", "document", _SURE, _LATE)
    return None


def _text(found: re.Match[bytes] | None) -> str:
    return "" if found is None else found[1].decode()


def bundle(path: str) -> str | None:
    """The folder in which the files of a session lie, among those of others."""
    found = _tree(path.replace("\\", "/"))
    return None if found is None else path[: found.end()]


def _tree(path: str) -> re.Match[str] | None:
    """The last folder `storage` on the way to a file that belongs to a session."""
    if _FILE.fullmatch(path.rpartition("/")[2]) is None:
        return None
    return deque(_TREE.finditer(path), maxlen=1).pop() if _TREE.search(path) else None
