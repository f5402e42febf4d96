"""The real agents at work: Claude Code, Codex and pi, asked prompt by prompt in a closed room with the fake model."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Self
from uuid import uuid4

from oracles.box import AgentFailed, Box
from oracles.conversation import Json
from oracles.fake_model import script
from oracles.install import JUDGES, NODE, missing
from oracles.readers import NotInstalled

_CODEX_CONFIG = """\
model = "gpt-5-codex"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]  # without these it waits five seconds for the network at each end
plugins = false
apps = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[projects."{work}"]
trust_level = "trusted"
"""
_PI_APIS = {"anthropic": "anthropic-messages", "responses": "openai-responses", "chat": "openai-completions"}


class LiveAgent(ABC):
    """One session of a real agent. The first prompt begins it, or takes up the one that is given; the others go on."""

    judge: ClassVar[str]
    is_named_by_file: ClassVar[bool] = False  # a session is resumed by its file, and not by its id
    is_renamed: ClassVar[bool] = False  # what is resumed by its file gets another id

    def __init__(self, box: Box, session: str | None = None) -> None:
        if why := missing(self.judge):
            raise NotInstalled(why)
        self.box = box
        self.session = session
        self._fork_of: str | None = None
        self._prepare()

    def ask(self, prompt: str, *steps: Json, image: Path | None = None) -> Path:
        """Asks one thing, perhaps with a picture, and waits for the answer; gives the session's file."""
        command = self._command(script(prompt, *steps), image)
        return self._noted(self.box.run(command, self._variables()))

    def ask_and_kill(self, prompt: str, *steps: Json) -> Path:
        """Asks one thing and kills the agent (SIGKILL) where a step of the box holds it; gives the session's file."""
        command = self._command(script(prompt, *steps))
        return self._noted(self.box.run_and_kill(command, self._variables(), self._has_written))

    def fork(self) -> Self:
        """A session that will begin, with its first prompt, as a fork of this one."""
        child = self._sibling()
        child._fork_of = self.session  # noqa: SLF001 - a class may know its own
        return child

    @property
    @abstractmethod
    def file(self) -> Path:
        """The session's file; only after the first prompt."""

    @abstractmethod
    def _prepare(self) -> None:
        """Writes the settings into the home."""

    @abstractmethod
    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        """How the next prompt is asked."""

    @abstractmethod
    def _variables(self) -> dict[str, str]:
        """The environment that it needs besides the box's."""

    @abstractmethod
    def _learned(self, said: str) -> str:
        """The session's id, after the program has run."""

    def _has_written(self) -> bool:
        """Whether the session's file is there, if that can be told while the program runs."""
        return True

    def _sibling(self) -> Self:
        return type(self)(self.box)

    def _noted(self, said: str) -> Path:
        self.session, self._fork_of = self._learned(said), None
        return self.file


class Claude(LiveAgent):
    """Claude Code; "/compact" is a prompt that it understands."""

    judge = "claude"

    @property
    def file(self) -> Path:
        """The session's file; only after the first prompt."""
        return next(self._files())

    def _files(self) -> Iterator[Path]:
        return (self.box.home / ".claude" / "projects").glob(f"*/{self.session or self._next}.jsonl")

    def _has_written(self) -> bool:
        return any(self._files())  # it gathers lines for a tenth of a second

    def _prepare(self) -> None:
        self._next = str(uuid4())

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        assert image is None, "headless, it takes no pictures: let it read one"
        where = ["--resume", self.session] if self.session else ["--session-id", self._next]
        if self._fork_of:
            where = ["--resume", self._fork_of, "--fork-session", "--session-id", self._next]
        tools = ["--allowedTools", "Bash,Read,Write,Edit,Task,Agent"]
        options = ["--output-format", "json", "--model", "claude-sonnet-4-5", *tools]
        return [str(JUDGES["claude"].file), *options, *where, "-p", prompt]

    def _variables(self) -> dict[str, str]:
        off = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
        return {"ANTHROPIC_BASE_URL": self.box.url, "ANTHROPIC_API_KEY": "fake-key", **dict.fromkeys(off, "1")}

    def _learned(self, said: str) -> str:  # noqa: ARG002 - its id is of our choice
        return self.session or self._next


class Codex(LiveAgent):
    """Codex; it compacts by itself when a step says that it cost more input than the model's window holds."""

    judge = "codex"

    @property
    def file(self) -> Path:
        """The session's file; only after the first prompt."""
        return next((self.box.home / ".codex" / "sessions").rglob(f"rollout-*-{self.session}.jsonl"))

    def _prepare(self) -> None:
        folder = self.box.home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(_CODEX_CONFIG.format(url=self.box.url, work=self.box.work))

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        where = ["resume", self.session] if self.session else ["fork", self._fork_of] if self._fork_of else []
        picture = [] if image is None else ["-i", str(image)]
        return [
            str(NODE),
            str(JUDGES[self.judge].file),
            "exec",
            "--json",
            "--skip-git-repo-check",
            *where,
            *picture,
            "--",
            prompt,
        ]

    def _variables(self) -> dict[str, str]:
        return {"FAKE_KEY": "fake-key"}

    def _learned(self, said: str) -> str:
        for line in said.splitlines():
            event = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
            if event.get("type") == "thread.started":
                return str(event["thread_id"])
        raise AgentFailed(f"codex named no thread: {said[-2000:]}")


class OldCodex(Codex):
    """Codex 0.63.0, which notes of a compaction only its summary, and not what it goes on with."""

    judge = "codex-old"


class Pi(LiveAgent):
    """pi 0.73.1, over any of the three APIs."""

    judge = "pi"
    is_named_by_file = True

    def __init__(self, box: Box, session: str | None = None, api: str = "anthropic") -> None:
        self._api = api
        super().__init__(box, session)

    @property
    def file(self) -> Path:
        """The session's file; only after the first prompt. pi names sessions by their files."""
        return Path(self.session or "")

    def _prepare(self) -> None:
        folder = self.box.home / ".pi" / "agent"
        folder.mkdir(parents=True, exist_ok=True)
        cost = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
        limits = {"contextWindow": 200_000, "maxTokens": 8192, "cost": cost}
        model = {"id": "fake-model", "name": "fake-model", "reasoning": True, "input": ["text", "image"], **limits}
        providers = {
            name: {
                "baseUrl": self.box.url if name == "anthropic" else f"{self.box.url}/v1",
                "api": api,
                "apiKey": "fake-key",
                "models": [model],
            }
            for name, api in _PI_APIS.items()
        }
        (folder / "models.json").write_text(json.dumps({"providers": {f"fake-{k}": v for k, v in providers.items()}}))
        self._before = self._files()

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        self._before = self._files()
        where = ["--session", self.session] if self.session else ["--fork", self._fork_of] if self._fork_of else []
        which = ["--provider", f"fake-{self._api}", "--model", "fake-model", "--thinking", "low"]
        picture = [] if image is None else [f"@{image}"]
        return [str(NODE), str(JUDGES[self.judge].file), *which, *where, *picture, "-p", prompt]

    def _variables(self) -> dict[str, str]:
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}

    def _learned(self, said: str) -> str:
        new = self._files() - self._before
        if not self.session and len(new) != 1:
            raise AgentFailed(f"pi wrote {len(new)} new files: {said[-2000:]}")
        return self.session or str(new.pop())

    def _sibling(self) -> Self:
        return type(self)(self.box, api=self._api)

    def _files(self) -> set[Path]:
        return set((self.box.home / ".pi").rglob("sessions/**/*.jsonl"))


class PiEarendil(Pi):
    """pi 0.87.1."""

    judge = "pi-earendil"
