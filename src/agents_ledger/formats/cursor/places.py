"""Where Cursor keeps sessions."""

from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

_DATABASES = r"User/(globalStorage|workspaceStorage/[^/]+)/state\.vscdb"
_FILES = r"chats/[^/]+/[^/]+/store\.db|projects/[^/]+/agent-transcripts/.+\.(jsonl|txt)"


def roots(machine: Machine) -> Iterator[Root]:
    """The editor's folder on each system, and the one that editor and command line share."""
    home = machine.home
    if machine.platform == "darwin":
        settings = f"{home}/Library/Application Support"
    elif machine.platform == "win32":
        settings = machine.environ.get("APPDATA") or f"{home}/AppData/Roaming"
    else:
        settings = machine.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    yield from (Root(f"{settings}/{name}", _DATABASES) for name in ("Cursor", "Cursor Nightly"))
    yield Root(machine.environ.get("CURSOR_CONFIG_DIR") or f"{home}/.cursor", _FILES)
