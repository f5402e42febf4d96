"""Session ids out of paths: the file's or folder's name where it is an id, else a name that no other file has."""

import re
from hashlib import sha256

_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # UUIDs
    r"|[0-9a-f]{16,64}|[0-9a-hjkmnp-tv-z]{26}"  # digests, ULIDs
    r"|(?:ses|task|call|toolu)[-_][0-9a-z_-]{6,200}",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[a-z]+")
_GENERIC = frozenset((
    "chat", "chats", "conversation", "conversations", "export", "exports", "full", "log", "logs", "message", "messages",
    "output", "raw", "rollout", "session", "sessions", "trace", "transcript", "transcripts",
))  # fmt: skip
_FOLDERS = 2  # above a file, by which files of the same name are told apart
_STEM = 200  # characters of a name


def is_id(name: str) -> bool:
    """Whether a name is an id as programs make them, and no word that a person or a script chose."""
    return _ID.fullmatch(name) is not None


def is_generic(name: str) -> bool:
    """Whether many conversations lie in files of this name: `full`, `raw_transcript`, `session.2`."""
    words = _WORDS.findall(name.lower())
    return bool(words) and _GENERIC.issuperset(words)


def folder_id(path: str) -> str | None:
    """The name of the folder that a file lies in, if it is an id."""
    folder = _names(path)[-2:-1]
    return folder[0] if folder and is_id(folder[0]) else None


def own_name(path: str, stem: str) -> str:
    """The name under which a file without any id is a session: its stem, unless many files have that."""
    return folder_id(path) or told_apart(path, stem) if is_generic(stem) else stem


def told_apart(path: str, stem: str, content: bytes = b"") -> str:
    """A file's stem with a digest of the folders above it and of something that it says; the same wherever it is moved.

    Only two folders count, so that a copy of a whole collection has the same names.
    """
    folders = "/".join(_names(path)[:-1][-_FOLDERS:])
    told = f"{folders}/{stem}\0".encode("utf-8", "surrogatepass") + content
    return f"{stem[:_STEM]}-{sha256(told).hexdigest()[:16]}"


def _names(path: str) -> list[str]:
    return [name for name in path.replace("\\", "/").split("/") if name]
