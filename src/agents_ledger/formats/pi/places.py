"""Where the family keeps its sessions."""

from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

_TRANSCRIPT = (
    r"(?![^/]*\.trajectory\.)[^/]+\.jsonl(?:\.(?:bak|deleted|reset)\.[^/]+|\.bak-\d+-\d+|\.imported-\d+)?(?:\.zst)?"
)
_FILE = rf"(?:{_TRANSCRIPT}|(?:[^/]+\.)?sessions\.json(?:\.bak\.\d+|\.imported-\d+)?)"
_ANYWHERE = rf"(?:[^/]+/)*{_FILE}"
_STATE = (
    rf"(?:agents/[^/]+/(?:sessions|session-sqlite-import-archive)|sessions)/(?:[^/]+/)*{_FILE}"
    r"|^agents/[^/]+/agent/openclaw-agent\.sqlite$"
)
_STATE_VARIABLES = ("CLAWDBOT_STATE_DIR", "MOLTBOT_STATE_DIR", "OPENCLAW_STATE_DIR")


def roots(machine: Machine) -> Iterator[Root]:
    """The standard folders (the same on all systems) and those that the environment names."""
    home = machine.home
    yield Root(f"{home}/.pi/agent/sessions", _ANYWHERE)
    for name in (".clawdbot", ".moltbot", ".openclaw"):
        yield Root(f"{home}/{name}", _STATE)
    yield Root(f"{home}/nexus/state/sessions", _ANYWHERE)
    if folder := machine.environ.get("PI_CODING_AGENT_DIR"):
        yield Root(f"{_expanded(folder, home)}/sessions", _ANYWHERE)
    if folder := machine.environ.get("PI_CODING_AGENT_SESSION_DIR"):
        yield Root(_expanded(folder, home), _ANYWHERE)
    for variable in _STATE_VARIABLES:
        if folder := machine.environ.get(variable):
            yield Root(_expanded(folder, home), _STATE)


def _expanded(folder: str, home: str) -> str:
    """The folder with ~ for the home, as all of them take it."""
    return home + folder[1:] if folder == "~" or folder.startswith(("~/", "~\\")) else folder
