"""Ids of OpenCode's kind: those that were given to what was written for it follow from the session's, and are known."""

import re
from hashlib import sha256
from string import ascii_letters, digits

_LETTERS = (digits + ascii_letters).encode()
_BY_BYTE = bytes(_LETTERS[byte % len(_LETTERS)] for byte in range(256))
_MASK = (1 << 48) - 1
_ID = re.compile(r"(?:ses|msg|prt)_([0-9a-f]{12})([0-9A-Za-z]{14})")
_BEFORE_MS = 60_000  # what is said next has greater ids: OpenCode sorts by them
_MOST = 1 << 32  # messages and parts that one session may have got


def session_id(at: int, random: bytes) -> str:
    """A new session's id; newer sessions have smaller ones."""
    return f"ses_{~(at * 0x1000) & _MASK:012x}{_letters(random)}"


def own_id(kind: str, session: str, at: int, count: int) -> str:
    """The id of the n-th thing that is written for a session at a time."""
    stamp = ((at - _BEFORE_MS) * 0x1000 + count) & _MASK
    return f"{kind}_{stamp:012x}{_letters(sha256(f'{session}/{count}'.encode()).digest())}"


def wrote(session: str, native_id: str) -> str | None:
    """The session, if an id is one that was given here to something in it."""
    told, made = _ID.fullmatch(session), _ID.fullmatch(native_id)
    if told is None or made is None:
        return None
    first = (~int(told[1], 16) - _BEFORE_MS * 0x1000) & _MASK
    count = (int(made[1], 16) - first) & _MASK
    is_own = count < _MOST and _letters(sha256(f"{session}/{count}".encode()).digest()) == made[2]
    return session if is_own else None


def is_redacted(name: str) -> bool:
    """Whether somebody replaced an id before the session was published: then many things have the same one."""
    return "redact" in name.lower() or not name.strip("*xX.-_ ")


def _letters(random: bytes) -> str:
    return random[:14].translate(_BY_BYTE).decode()
