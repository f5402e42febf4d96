"""Which files belong to a session: `…/session/<ULID>-<agent>/…`, nested in `subagent/`."""

import re

from agents_ledger.formats.agentuse.places import FILES, ULID
from agents_ledger.model.formats import Kind

_FILE = re.compile(rf"(?P<folder>(?:.*/)?{ULID}-[^/]*)/(?P<file>{FILES})", re.DOTALL)
_FOLDER = re.compile(rf"({ULID})-.*", re.DOTALL)


def bundle(path: str) -> str | None:
    """The session folder that a file belongs to (of a subagent: its own, not its parent's)."""
    found = _FILE.fullmatch(path.replace("\\", "/"))
    return path[: found.end("folder")] if found else None


def recognise(path: str, head: bytes) -> Kind | None:
    """A file of a session folder, by its place in it; surer where it says so itself."""
    found = _FILE.fullmatch(path.replace("\\", "/"))
    if found is None:
        return None
    return Kind("file", "bundle", score=90 if _speaks(found["file"], head) else 60)


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
