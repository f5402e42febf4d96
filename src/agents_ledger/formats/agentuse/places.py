"""Where AgentUse keeps sessions, and which files belong to one: `…/session/<ULID>-<agent>/…`, nested in `subagent/`."""

import re
from collections.abc import Iterator

from agents_ledger.model.formats import Kind, Machine, Root

_ULID = r"[0-9A-Za-z]{26}"
_TEMPORARY = r"(?:\.[0-9A-Za-z.-]+\.tmp)?"
_FILES = (
    rf"(?:session|tools|context)\.json{_TEMPORARY}"
    rf"|{_ULID}/message\.json{_TEMPORARY}"
    rf"|{_ULID}/part/[^/]+\.json{_TEMPORARY}"
    rf"|{_ULID}/artifact/[^/]+"
)
_FILE = re.compile(rf"(?P<folder>(?:.*/)?{_ULID}-[^/]*)/(?P<file>{_FILES})", re.DOTALL)
_FOLDER = re.compile(rf"({_ULID})-.*", re.DOTALL)


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


def roots(machine: Machine) -> Iterator[Root]:
    """The data folder, on every system the same (AgentUse follows XDG everywhere)."""
    home = machine.home.rstrip("/\\")
    data = machine.environ.get("XDG_DATA_HOME") or f"{home}/.local/share"
    pattern = rf"[^/]+/session/(?:{_ULID}-[^/]*/subagent/)*{_ULID}-[^/]*/(?:{_FILES})"
    yield Root(f"{data.rstrip('/')}/agentuse/project", pattern)
