"""Home folders with agents' sessions in their places: the samples that come along, where each agent keeps its own."""

import shutil
from pathlib import Path

import pytest

from agents_ledger.config import samples_folder

SAMPLES = Path(samples_folder())
# what the environment may say about where agents keep their sessions
VARIABLES = (
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CLAWDBOT_STATE_DIR",
    "CODEX_HOME",
    "CURSOR_CONFIG_DIR",
    "MOLTBOT_STATE_DIR",
    "OPENCLAW_STATE_DIR",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
_PLACES = {
    "agentuse/project": ".local/share/agentuse/project",
    "claude-code": ".claude/projects/-home-dev-weather",
    "codex/sessions": ".codex/sessions",
    "cursor/chats": ".cursor/chats",
    "pi": ".pi/agent/sessions",
}


def go_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a folder the home of this process."""
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def settle(folder: Path) -> None:
    """Puts the samples where their agents would have put them."""
    for sample, place in _PLACES.items():
        shutil.copytree(SAMPLES / sample, folder / place)
