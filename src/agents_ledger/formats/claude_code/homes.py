"""Where Claude Code keeps its sessions."""

from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

_PATTERN = r"^.*(\.jsonl|/agent-[^/]+\.meta\.json)$"
_DESKTOP = r"^.*/\.claude/projects/.*(\.jsonl|/agent-[^/]+\.meta\.json)$"


def roots(machine: Machine) -> Iterator[Root]:
    """Its own folders, the one that the environment names, and those of the desktop program's agents."""
    home = machine.home.rstrip("/\\")
    configured = machine.environ.get("CLAUDE_CONFIG_DIR", "")
    config = machine.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    folders = [part.strip() for part in configured.split(",") if part.strip()]
    for folder in dict.fromkeys([*folders, f"{home}/.claude", f"{config}/claude"]):
        yield Root(f"{folder.rstrip('/')}/projects", _PATTERN)
    data = {
        "darwin": f"{home}/Library/Application Support",
        "win32": machine.environ.get("APPDATA") or f"{home}/AppData/Roaming",
    }.get(machine.platform, config)
    yield Root(f"{data}/Claude/local-agent-mode-sessions", _DESKTOP)
