"""Recognise OpenCode's files by their keys, wherever they lie."""

import re
from collections import deque

from agents_ledger.model.formats import Kind
from agents_ledger.model.members import Members, document

_SQLITE = b"SQLite format 3\0"
_DATABASE = re.compile(r"/opencode(?:-[^/]*)?\.db$")
_PART = re.compile(
    rb"CREATE TABLE [\"`]?part[\"`]? ?\(\s*[\"`]?id[\"`]? text PRIMARY KEY,\s*[\"`]?message_id[\"`]?", re.IGNORECASE
)
_SESSION = re.compile(r"ses_[A-Za-z0-9]{1,80}")
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
    whole = document(head)
    found, session = _tree(path), _session(whole)
    if found is not None and whole.values and (named := _NAMED.search(path)):
        return Kind(found[1], "bundle", _SURE, _EARLY, group=named[1])
    if found is not None and session:
        return Kind(found[1], "bundle", _SURE, _EARLY, group=session)
    return Kind("export", "document", _SURE, _LATE) if _is_export(whole) else None


def _session(whole: Members) -> str:
    """The session that a file of the tree says it is of; empty if it says none."""
    names = (whole.text(key) or "" for key in ("sessionID", "id"))
    return next((name for name in names if _SESSION.fullmatch(name)), "")


def _is_export(whole: Members) -> bool:
    """Whether a document is a session with its messages: by the session, or by the first message if it stands first."""
    info, message = whole.inside("info"), whole.first("messages")
    told = message.inside("info")
    if info.values:
        is_ours = _session(info) or (info.is_text("id") and info.has("time") and info.has("directory"))
        return bool(is_ours) and (whole.is_list("messages") or whole.is_cut)
    is_ours = told.text("role") in ("user", "assistant") and told.is_text("sessionID")
    return whole.is_cut and is_ours and (message.is_list("parts") or message.is_cut)


def bundle(path: str) -> str | None:
    """The folder in which the files of a session lie, among those of others."""
    found = _tree(path.replace("\\", "/"))
    return None if found is None else path[: found.end()]


def _tree(path: str) -> re.Match[str] | None:
    """The last folder `storage` on the way to a file that belongs to a session."""
    if _FILE.fullmatch(path.rpartition("/")[2]) is None:
        return None
    return deque(_TREE.finditer(path), maxlen=1).pop() if _TREE.search(path) else None
