"""Where AgentUse keeps sessions."""

from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

ULID = r"[0-9A-Za-z]{26}"
_TEMPORARY = r"(?:\.[0-9A-Za-z.-]+\.tmp)?"
FILES = (
    rf"(?:session|tools|context)\.json{_TEMPORARY}"
    rf"|{ULID}/message\.json{_TEMPORARY}"
    rf"|{ULID}/part/[^/]+\.json{_TEMPORARY}"
    rf"|{ULID}/artifact/[^/]+"
)


def roots(machine: Machine) -> Iterator[Root]:
    """The data folder, on every system the same (AgentUse follows XDG everywhere)."""
    home = machine.home.rstrip("/\\")
    data = machine.environ.get("XDG_DATA_HOME") or f"{home}/.local/share"
    pattern = rf"[^/]+/session/(?:{ULID}-[^/]*/subagent/)*{ULID}-[^/]*/(?:{FILES})"
    yield Root(f"{data.rstrip('/')}/agentuse/project", pattern)
