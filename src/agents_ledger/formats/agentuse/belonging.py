"""Which files belong to a session: `…/session/<ULID>-<agent>/…`, nested in `subagent/`."""

import re

from agents_ledger.formats.agentuse.places import FILES, ULID
from agents_ledger.model.formats import Kind

_FILE = re.compile(FILES, re.DOTALL)
_FOLDER = re.compile(rf"({ULID})-.*", re.DOTALL)
_DEEPEST = 3  # a file is in the session's folder, in a message's folder there, or in a folder of the message's


def bundle(path: str) -> str | None:
    """The session folder that a file belongs to (of a subagent: its own, not its parent's)."""
    found = _parted(path.replace("\\", "/"))
    return path[: len(found[0])] if found else None


def recognise(path: str, head: bytes) -> Kind | None:
    """A file of a session folder, by its place in it; surer where it says so itself."""
    found = _parted(path.replace("\\", "/"))
    if found is None:
        return None
    return Kind("file", "bundle", score=90 if _speaks(found[1], head) else 60)


def _parted(path: str) -> tuple[str, str] | None:
    """A path as the innermost session folder and the file in it; None for any other file."""
    folder, names = path, list[str]()
    for _ in range(_DEEPEST):
        folder, _, name = folder.rpartition("/")
        names.insert(0, name)
        file = "/".join(names)
        if _FOLDER.fullmatch(folder.rpartition("/")[2]) and _FILE.fullmatch(file):
            return folder, file
    return None


def _speaks(file: str, head: bytes) -> bool:
    """Whether the first bytes are what such a file begins with."""
    if file.startswith("session.json"):
        return b'"agent"' in head and b'"project"' in head
    if "/artifact/" in file:
        return b"tool-output" in head
    if "/" in file:
        return b'"sessionID"' in head
    return b'"tools"' in head or b'"messages"' in head


def line_of(path: str) -> list[str]:
    """The ids of the session that a path belongs to and of those that it is nested in, outermost first."""
    line: list[str] = []
    before = ""
    for name in path.replace("\\", "/").split("/"):
        if found := _FOLDER.fullmatch(name):
            line = [*(line if before == "subagent" else ()), found[1]]
        before = name
    return line
