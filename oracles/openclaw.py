"""OpenClaw with sessions of its own, in its database: asked one by one, or through a gateway that runs beside."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from oracles.forks import NAMES
from oracles.install import JUDGES, NODE
from oracles.written import OpenClaw

_PORT = 18789
_READY = "[gateway] ready"


class OpenClawDatabase(OpenClaw):
    """OpenClaw; a session that was written for it is taken into its database before it is resumed."""

    is_gateway = False  # whether one is running, which then does the work

    @property
    def file(self) -> Path:
        """The database, where all sessions are."""
        return self._state / "agents" / "main" / "agent" / "openclaw-agent.sqlite"

    @contextmanager
    def gateway(self) -> Iterator[None]:
        """What people have running: only so are there subagents (with `--local` it refuses to start any)."""
        program = [str(NODE), str(JUDGES[self.judge].file), "gateway", "run"]
        with self.box.running(program, {**self._variables(), "OPENCLAW_SKIP_CHANNELS": "1"}, _READY):
            self.is_gateway = True
            yield
        self.is_gateway = False

    def migrate(self) -> None:
        """What is done once after an update: sessions in files go into the database."""
        program = [str(NODE), str(JUDGES[self.judge].file), "doctor", "--fix", "--yes", "--non-interactive"]
        self.box.run(program, self._variables())

    def _prepare(self) -> None:
        super()._prepare()
        path = self._state / "openclaw.json"
        settings = json.loads(path.read_text())
        settings["tools"] = {"toolSearch": False}  # else it offers no tool for subagents at once
        settings["gateway"] = {"mode": "local", "bind": "loopback", "port": _PORT, "auth": {"mode": "none"}}
        defaults = settings["agents"]["defaults"]
        defaults["skills"] = []
        defaults["compaction"]["mode"] = "default"  # else it refuses a summary that does not look like one
        path.write_text(json.dumps(settings))

    def _command(self, prompt: str, image: Path | None = None) -> list[str]:
        assert image is None, "on its command line it takes no pictures: let it read one"
        self._next = self.session or str(uuid4())
        program = shlex.join([str(NODE), str(JUDGES[self.judge].file)])
        where = "" if self.is_gateway else " --local"
        asked = f"{program} agent{where} --json --session-id {self._next} --message {shlex.quote(prompt)}"
        given = self._state / "agents" / "main" / "sessions" / f"{self._next}.jsonl"
        first = f"{program} doctor --session-sqlite import >&2 && " if given.exists() else ""
        return ["sh", "-c", first + asked]

    def _learned(self, said: str) -> str:  # noqa: ARG002 - its id is of our choice
        return self._next


NAMES[OpenClawDatabase] = "openclaw"
