"""Agents that are judges of the night, in a closed room with the fake model."""

import json
import shlex
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from oracles.install import JUDGES, NODE
from oracles.live import LiveAgent

_QWEN = {
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
    "model": {"generationConfig": {"modalities": {"image": True}}},  # else it shows it no pictures
}
_MODALITIES = {"input": ["text", "image"], "output": ["text"]}
_MODEL = {
    "name": "Fake",
    "limit": {"context": 200_000, "output": 8192},
    "tool_call": True,
    "reasoning": True,
    "attachment": True,
    "modalities": _MODALITIES,
}


class Qwen(LiveAgent):
    """Qwen Code, over chat completions."""

    judge = "qwen"

    @property
    def file(self) -> Path:
        """The session's file."""
        return next((self.box.home / ".qwen" / "projects").glob(f"*/chats/{self.session}.jsonl"))

    def _prepare(self) -> None:
        folder = self.box.home / ".qwen"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(_QWEN))

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        assert image is None, "it is asked for words only"
        where = ["--resume", self.session] if self.session else []
        options = ["--auth-type", "openai", "-y", "-o", "json"]
        return [str(NODE), str(JUDGES["qwen"].file), *options, *where, "-p", prompt]

    def _variables(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": "fake-key", "OPENAI_BASE_URL": f"{self.box.url}/v1", "OPENAI_MODEL": "fake-model"}

    def _learned(self, said: str) -> str:
        return str(self.session or json.loads(said)[-1]["session_id"])


class OpenCode(LiveAgent):
    """OpenCode; a session that was written for it is imported before it is resumed."""

    judge = "opencode"
    _library: ClassVar[str] = "@ai-sdk/openai-compatible"

    @property
    def file(self) -> Path:
        """The database, where all sessions are."""
        return self._data / "opencode.db"

    @property
    def _data(self) -> Path:
        return self.box.home / ".local" / "share" / "opencode"

    def _prepare(self) -> None:
        folder = self.box.home / ".config" / "opencode"
        folder.mkdir(parents=True, exist_ok=True)
        options = {"baseURL": f"{self.box.url}/v1", "apiKey": "fake-key"}
        provider = {"npm": self._library, "name": "Fake", "options": options}
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "fake/fake-model",
            "small_model": "fake/fake-model",
            "permission": {"*": "allow"},
            "provider": {"fake": {**provider, "models": {"fake-model": _MODEL}}},
        }
        (folder / "opencode.json").write_text(json.dumps(settings))

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        program = shlex.quote(str(JUDGES["opencode"].file))
        asked = f"printf %s {shlex.quote(prompt)}"  # as an argument it would be quoted once more
        run = f"{program} run --format json --auto -m fake/fake-model"
        run += f" --session {self.session}" if self.session else ""
        run += f" -f {shlex.quote(str(image))}" if image else ""
        given = self._data / "imports" / f"{self.session}.json"
        first = f"{program} import {shlex.quote(str(given))} >&2 && " if given.exists() else ""
        return ["sh", "-c", f"{first}{asked} | {run}"]

    def _variables(self) -> dict[str, str]:
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        return {f"OPENCODE_DISABLE_{name}": "1" for name in off}

    def _learned(self, said: str) -> str:
        events = (json.loads(line) for line in said.splitlines() if line.startswith("{"))
        return str(self.session or next(event["sessionID"] for event in events))


class SealedOpenCode(OpenCode):
    """OpenCode over Anthropic's API, whose thoughts have seals."""

    _library = "@ai-sdk/anthropic"


class Gemini(LiveAgent):
    """Gemini CLI; a session's file is taken in under another id, and then goes on under that."""

    judge = "gemini"
    is_named_by_file = True
    is_renamed = True

    @property
    def file(self) -> Path:
        """The session's file: the one that has something in it, where there are two of this session."""
        given = Path(self.session or "")
        if given.suffix == ".jsonl":
            return given
        found = (self.box.home / ".gemini" / "tmp").glob(f"*/chats/session-*-{given.name[:8]}.json*")
        return max(found, key=lambda path: path.stat().st_size)

    def _prepare(self) -> None:
        folder = self.box.home / ".gemini"
        folder.mkdir(exist_ok=True)
        off = {"disableAutoUpdate": True, "enableAutoUpdate": False, "sessionRetention": {"enabled": False}}
        auth = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
        settings = {"general": off, "security": auth, "telemetry": {"enabled": False}}
        settings |= {"privacy": {"usageStatisticsEnabled": False}, "experimental": {"modelRouter": False}}
        (folder / "settings.json").write_text(json.dumps(settings))

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        options = ["--skip-trust", "-y", "-m", "gemini-2.5-flash", "-o", "json"]
        if self.session:
            is_file = self.session.endswith(".jsonl")
            options += ["--session-file" if is_file else "--resume", self.session]
        shown = "" if image is None else f" @{image.name}"
        return [str(NODE), str(JUDGES["gemini"].file), *options, "-p", f"{prompt}{shown}"]

    def _variables(self) -> dict[str, str]:
        off = {"GEMINI_TELEMETRY_ENABLED": "false", "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_BROWSER": "1"}
        return {"GEMINI_API_KEY": "fake-key", "GOOGLE_GEMINI_BASE_URL": self.box.url, **off}

    def _learned(self, said: str) -> str:
        return str(json.loads(said[said.index("{") :])["session_id"])


class OpenClaw(LiveAgent):
    """OpenClaw, which takes transcripts into its database before it resumes them."""

    judge = "openclaw"

    @property
    def file(self) -> Path:
        """The transcript that was taken in."""
        return self._state / "agents" / "main" / "sessions" / f"{self.session}.jsonl"

    @property
    def _state(self) -> Path:
        return self.box.home / ".openclaw"

    def _prepare(self) -> None:
        self._state.mkdir(exist_ok=True)
        cost = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
        limits = {"contextWindow": 200_000, "maxTokens": 8192, "cost": cost}
        model = {"id": "fake-model", "name": "fake-model", "reasoning": True, "input": ["text", "image"], **limits}
        fake = {"baseUrl": self.box.url, "api": "anthropic-messages", "apiKey": "fake-key", "models": [model]}
        kept = {"keepRecentTokens": 5}  # else 20,000, which is more than is said here
        defaults = {"workspace": str(self.box.work), "model": {"primary": "fake/fake-model"}, "compaction": kept}
        settings = {
            "models": {"mode": "replace", "providers": {"fake": fake}},
            "agents": {"defaults": defaults},
            "update": {"checkOnStart": False},
        }
        (self._state / "openclaw.json").write_text(json.dumps(settings))

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        assert image is None, "it is asked for words only"
        program = shlex.join([str(NODE), str(JUDGES["openclaw"].file)])
        asked = f"agent --local --json --session-id {self.session} --message {shlex.quote(prompt)}"
        return ["sh", "-c", f"{program} doctor --session-sqlite import >&2 && {program} {asked}"]

    def _variables(self) -> dict[str, str]:
        off = ("OPENCLAW_NO_RESPAWN", "OPENCLAW_HIDE_BANNER", "DO_NOT_TRACK")
        return {"OPENCLAW_STATE_DIR": str(self._state), **dict.fromkeys(off, "1")}

    def _learned(self, said: str) -> str:  # noqa: ARG002 - it was given
        return str(self.session)


class OpenClawFiles(OpenClaw):
    """OpenClaw as it was when its sessions were files (the last such version)."""

    judge = "openclaw-files"

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        assert image is None, "on its command line it takes no pictures: let it read one"
        self._next = self.session or str(uuid4())
        asked = ["agent", "--local", "--json", "--session-id", self._next, "--message", prompt]
        return [str(NODE), str(JUDGES[self.judge].file), *asked]

    def _learned(self, said: str) -> str:  # noqa: ARG002 - its id is of our choice
        return self._next
